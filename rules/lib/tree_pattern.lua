--- Trees as patterns. plan() gives a name to every place of a tree; build()
--- makes the pattern of the tree in `match`.
local words = lib "tree_words"
local kind, wrong, shown, shown_path = words.kind, words.wrong, words.shown, words.shown_path

local trees = {}

-- Ops of two operands: in a sequence the other operand may be anything.
local two = {}
for name in ("Add Sub Mul Div Pow MatMul And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual BitwiseAnd BitwiseOr "
  .. "BitwiseXor PRelu Mod BitShift"):gmatch("%S+") do
  two[name] = true
end

local function joined(path, k)
  local longer = {}
  for i, each in ipairs(path) do longer[i] = each end
  longer[#longer + 1] = k
  return longer
end

local function named(prefix, path) return table.concat({prefix, table.concat(path, "_")}, "_") end

local function tag_of(check, prefix, path) return check and check.tag or named(prefix, path) end

local function note(plan, entry)
  for _, predicate in ipairs(entry.check and entry.check.predicates or {}) do
    plan.predicates[#plan.predicates + 1] = {entry = entry, ask = predicate}
  end
  return entry
end

local function plan_shared(plan, item, path)
  local entry = plan.shared[item]
  if not entry then
    entry = note(plan, {kind = "shared", item = item, check = item.check, path = path, times = 0,
      name = tag_of(item.check, item.check and "n" or "v", path)})
    plan.shared[item] = entry
    plan.shared[#plan.shared + 1] = entry
  end
  entry.times = entry.times + 1
  return entry
end

-- A SharedNodeCheck() that is used once shares nothing. If it has a check, one
-- such use is accepted; two of them are two nodes, and probably one was meant.
local function check_shared(plan)
  local alone
  for _, entry in ipairs(plan.shared) do
    if entry.times == 1 and (alone or not entry.check) then
      wrong(entry.item.place, "SharedNodeCheck() at %s is used only once, so nothing is shared; hint each call makes a "
        .. "new one: write local x = tree.SharedNodeCheck(...), and x at each place", shown_path(entry.path))
    end
    alone = alone or entry.times == 1
  end
end

-- A node is replaced, so every way to match the tree must contain a node.
local function check_root(plan, place)
  local root = plan.root
  local function stands(entry)
    return entry.kind == "check" or (entry.kind == "shared" and entry.check) or (entry.kind == "wildcard" and
      entry.item.count == "+")
  end
  for _, entry in ipairs(root.trunk or {}) do
    if stands(entry) then return end
  end
  if not root.fork then
    wrong(place,
      "`tree` may match no node at all; expected a node that is not optional, since the last node is replaced")
  end
end

-- `before` is the operator of the fork whose output this is.
local function plan_trunk(plan, items, path, before, place)
  local trunk = {}
  for i, item in ipairs(items) do
    local here_path = joined(path, i - 1)
    if kind(item) == "getitem" then
      if not before or before.kind ~= "check" or before.pick then
        wrong(item.place, "getitem() at %s does not follow a node", shown_path(here_path))
      end
      before.pick = item.index
      trunk[i] = {kind = "getitem", name = before.name, path = here_path}
    elseif kind(item) == "shared check" then
      if i > 1 or before then
        wrong(item.place, "a shared check at %s; expected it first in a sequence", shown_path(here_path))
      end
      trunk[i] = plan_shared(plan, item, here_path)
    elseif kind(item) == "wildcard" then
      trunk[i] = note(plan, {kind = "wildcard", item = item, check = item.check, path = here_path,
        name = tag_of(item.check, "n", here_path)})
    else
      local check = words.check(item, place, "the check at " .. shown_path(here_path))
      trunk[i] = note(plan, {kind = "check", check = check, path = here_path,
        name = tag_of(check, check.build and "node" or "n", here_path)})
    end
    before = trunk[i]
  end
  return trunk
end

local function plan_branch(plan, branch, path, place)
  if kind(branch) == "fork" then
    local inputs = {}
    for i, each in ipairs(branch.inputs) do inputs[i] = plan_branch(plan, each, joined(path, i - 1), branch.place) end
    -- Names in a pattern() here differ from those at the same path in a
    -- sequence.
    local own = joined(path, "op")
    local operator = note(plan, {kind = "check", check = branch.operator, path = path, words = own,
      name = branch.operator.build and named("node", own) or tag_of(branch.operator, "op", path)})
    return {fork = branch, path = path, inputs = inputs, operator = operator,
      trunk = plan_trunk(plan, branch.output, path, operator, branch.place)}
  end
  local empty = type(branch) == "table" and not getmetatable(branch) and next(branch) == nil
  if rawequal(branch, any) or empty or kind(branch) == "variable" or kind(branch) == "constant" then
    return {leaf = kind(branch) == "variable" and branch.name or named("v", path), item = branch, path = path}
  end
  if type(branch) == "string" or getmetatable(branch) then branch = {branch} end
  if type(branch) ~= "table" then
    wrong(place, "a branch at %s is not a tree; found %s", shown_path(path), shown(branch))
  end
  return {path = path, trunk = plan_trunk(plan, branch, path, nil, place)}
end

local function leaf(name, item)
  local value = any(name)
  if kind(item) == "constant" then
    value:const()
    if item.shape then value:fits(item.shape) end
  end
  return value
end

-- An operand or an attribute in the table of is().
local function written(v, name)
  if kind(v) == "variable" then return any(v.name) end
  if kind(v) == "constant" then return leaf(name, v) end
  if type(v) == "table" and next(v) == nil then return any end
  return v
end

local function op_of(op, name)
  local domain, type = name:match("^(.*)%.([^.]*)$")
  if domain then return op[domain][type] end
  return op[name]
end

-- The node of one op with `operands`; if `open`, more inputs may follow.
local function one_node(op, entry, name, operands, perms, open)
  local described = {perms = perms, inputs = open and any or nil, outputs = entry.pick and entry.pick + 1}
  for i, operand in ipairs(operands) do described[i] = operand end
  for key, value in pairs(entry.check.detail or {attrs = any}) do
    if type(key) == "string" then
      described[key] = written(value)
    else
      described[#operands + key] = written(value, named("x", joined(entry.path, key)))
    end
  end
  local outputs = {op_of(op, name)(described)}
  return outputs[(entry.pick or 0) + 1]
end

-- The node that an entry stands for. `inner`: in a sequence, with a trunk below it.
local function node(op, entry, operands, perms, inner)
  local check, value = entry.check, nil
  if check.build then
    -- name "w" is a variable, name("node", p) names the node that makes p.
    local function name(word, p)
      local full = named(word, entry.words or entry.path)
      return p and p:as(full) or any(full)
    end
    value = blame(nil, check.build, op, name, table.unpack(operands))
    if type(value) ~= "userdata" then
      wrong(check.place, "the check at %s does not build a pattern; found %s", shown_path(entry.path), shown(value))
    end
  else
    local alternatives = {}
    for i, name in ipairs(check.ops) do
      local listed = operands
      local alone = inner and not (check.detail and #check.detail > 0)
      if alone and two[name] then listed = {operands[1], any} end
      alternatives[i] = one_node(op, entry, name, listed, perms, alone and not two[name])
    end
    value = #alternatives == 1 and alternatives[1] or either(table.unpack(alternatives))
  end
  if entry.name and not check.build then value:as(entry.name) end
  for _, fact in ipairs(check.facts) do value[fact.word](value, table.unpack(fact)) end
  return value
end

--- Whether the first check of a sequence has one input below it; otherwise all
--- its inputs are below it.
function trees.takes_one(entry)
  local check = entry.check
  return entry.kind == "wildcard" or check.build or (check.detail and #check.detail > 0)
end

local function step(op, entry, below)
  local operands = {below}
  if not below then operands = {trees.takes_one(entry) and any(named("v", entry.path)) or rest} end
  -- Not a tail call: blame needs a stack frame of this file.
  local value = blame(entry.check.place, node, op, entry, operands, nil, below ~= nil)
  return value
end

-- `last`: the wildcard is the end of the tree, so one more node that fits must
-- not follow.
local function wildcard(op, entry, below, last)
  local count = entry.item.count
  below = below or any(named("v", entry.path))
  local function more(x) return step(op, entry, x) end
  local function no_more(x)
    if last then never(step(op, {check = entry.check, path = entry.path}, x)) end
    return x
  end
  if count == "?" then return either(function() return more(below) end, function() return no_more(below) end) end
  local chain = many(more, below)
  if count == "+" then
    chain = step(op, {check = entry.check, path = entry.path, name = entry.name .. "_last"}, chain)
  end
  return no_more(chain)
end

local function trunk_of(op, branch, below)
  for i, entry in ipairs(branch.trunk) do
    if entry.kind == "wildcard" then
      below = wildcard(op, entry, below, #branch.path == 0 and i == #branch.trunk)
    elseif entry.kind == "shared" and not entry.check then
      below = any(entry.name)
    elseif entry.kind ~= "getitem" then
      below = step(op, entry, below)
    end
  end
  return below
end

local value_of

-- The orders of perms_override, grouped by the branches that they name; each
-- group is an alternative.
local function permuted(op, branch)
  local groups, order = {}, {}
  for _, tuple in ipairs(branch.fork.perms_override) do
    local slots, used, perm = {}, {}, {}
    for slot, each in ipairs(tuple) do slots[each] = slot end
    for each = 0, #branch.inputs - 1 do
      if slots[each] then used[#used + 1], perm[#perm + 1] = each, slots[each] end
    end
    local key = table.concat(used, " ")
    if not groups[key] then
      groups[key] = {used = used, perms = {}}
      order[#order + 1] = groups[key]
    end
    table.insert(groups[key].perms, perm)
  end
  local alternatives = {}
  for i, group in ipairs(order) do
    alternatives[i] = function()
      local operands = {}
      for k, each in ipairs(group.used) do operands[k] = value_of(op, branch.inputs[each + 1]) end
      local value = blame(branch.fork.place, node, op, branch.operator, operands, group.perms)
      return value
    end
  end
  return #alternatives == 1 and alternatives[1]() or either(table.unpack(alternatives))
end

function value_of(op, branch)
  if branch.leaf then return leaf(branch.leaf, branch.item) end
  if not branch.fork then return trunk_of(op, branch) end
  local value
  if branch.fork.perms_override then
    value = permuted(op, branch)
  else
    local operands = {}
    for i, each in ipairs(branch.inputs) do operands[i] = value_of(op, each) end
    value = blame(branch.operator.check.place, node, op, branch.operator, operands)
  end
  return trunk_of(op, branch, value)
end

--- The places of a tree: input of build() and of lib "tree_match".
function trees.plan(tree, place)
  local plan = {shared = {}, predicates = {}}
  plan.root = plan_branch(plan, tree, {}, place)
  check_shared(plan)
  check_root(plan, place)
  return plan
end

--- The pattern, inside of `match`.
function trees.build(op, plan) return value_of(op, plan.root) end

return trees
