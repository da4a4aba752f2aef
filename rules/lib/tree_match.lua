--- The match of a tree: the methods of t in a rule of lib "tree", and the graft that replaces the tree.
local words = lib "tree_words"
local trees = lib "tree_pattern"
local kind, wrong, shown, shown_path = words.kind, words.wrong, words.shown, words.shown_path

local Match = {}
Match.__index = Match

local function counted(n, one, more) return n .. " " .. (n == 1 and one or more) end

-- The branch at the first `count` numbers of the path.
local function branch_at(t, path, count, place)
  local branch = t.plan.root
  for i = 1, count do
    local inputs = branch.inputs or {}
    local next_one = type(path[i]) == "number" and inputs[path[i] + 1]
    if not next_one then
      wrong(place, "the path %s: there is no branch %s; found %s there, counted from 0", shown_path(path),
        shown(path[i]), counted(#inputs, "branch", "branches"))
    end
    branch = next_one
  end
  return branch
end

local function path_of(...)
  local first = ...
  return type(first) == "table" and first or {...}
end

-- The nodes that an entry matched, the nearest to the inputs first.
local function nodes_of(t, entry)
  local found, nodes = t.m[entry.name], {}
  if type(found) == "table" then
    for i, node in ipairs(found) do nodes[i] = node end
  else
    nodes[1] = found
  end
  if entry.kind == "wildcard" and entry.item.count == "+" then nodes[#nodes + 1] = t.m[entry.name .. "_last"] end
  return nodes
end

--- The node at a path: the branches on the way, then the position in the sequence there, all counted from 0. For a
--- wildcard get_node{0, 2, is_wildcard = true}, which is a table with the list `nodes`.
function Match:get_node(...)
  local path, place = path_of(...), here()
  if #path == 0 then wrong(place, "get_node() takes a path, such as 0, 2") end
  local branch = branch_at(self, path, #path - 1, place)
  local position = path[#path]
  local entry = type(position) == "number" and (branch.trunk or {})[position + 1]
  if not entry then
    wrong(place, "the path %s: there is no position %s; found %s there, counted from 0", shown_path(path),
      shown(position), counted(#(branch.trunk or {}), "position", "positions"))
  end
  local is_wildcard = entry.kind == "wildcard"
  if is_wildcard ~= (path.is_wildcard == true) then
    wrong(place, "the path %s is %s wildcard; expected get_node%s", shown_path(path), is_wildcard and "a" or "no",
      is_wildcard and "{..., is_wildcard = true}" or "(...) without is_wildcard")
  end
  if is_wildcard then return {nodes = nodes_of(self, entry)} end
  local found = self.m[entry.name]
  if entry.kind == "shared" and not entry.check then return found.producer end
  return found
end

--- The node of the operator of the fork at a path; without a path, of the tree
--- itself.
function Match:pre_trunk(...)
  local path, place = path_of(...), here()
  local branch = branch_at(self, path, #path, place)
  if not branch.fork then wrong(place, "the path %s: this is not a fork", shown_path(path)) end
  return self.m[branch.operator.name]
end

--- The value at a path that ends at `()`, or at a SharedNodeCheck().
function Match:get_value(...)
  local path, place = path_of(...), here()
  local last = #path > 0 and branch_at(self, path, #path - 1, place) or self.plan.root
  local entry = last.trunk and type(path[#path]) == "number" and last.trunk[path[#path] + 1]
  if entry and entry.kind == "shared" and not entry.check and not last.fork then return self.m[entry.name] end
  local branch = branch_at(self, path, #path, place)
  local only = branch.trunk and not branch.fork and #branch.trunk == 1 and branch.trunk[1]
  if only and only.kind == "shared" and not only.check then return self.m[only.name] end
  if not branch.leaf then
    wrong(place, "the path %s: it ends at a node; use get_node()", shown_path(path))
  end
  return self.m[branch.leaf]
end

--- A variable of the pattern() at a path: get(0, 1, "w"); of one that is the operator of a fork get(0, "op", "w").
function Match:get(...)
  local path = {...}
  local name = table.remove(path)
  if type(name) ~= "string" then wrong(here(), "get() takes a path and a name; found %s", shown(name)) end
  return self.m[name .. "_" .. table.concat(path, "_")]
end

-- Appends to `list` the values that a branch takes from outside, in order; absent ones count too.
local function collect(t, branch, list)
  local function add(value)
    list.n = list.n + 1
    list[list.n] = value
  end
  if branch.leaf then return add(t.m[branch.leaf]) end
  for _, each in ipairs(branch.inputs or {}) do collect(t, each, list) end
  local first = not branch.fork and branch.trunk[1]
  if not first then return end
  if first.kind == "shared" and not first.check then
    add(t.m[first.name])
  elseif trees.takes_one(first) then
    add(t.m["v_" .. table.concat(first.path, "_")])
  else
    local inputs, last = t.m[first.name].inputs, 0
    for i in pairs(inputs) do last = math.max(last, i) end  -- absent ones are holes
    for i = 1, last do add(inputs[i]) end
  end
end

local function run_module(op, module, prev)
  local node = {outputs = module.outputs}
  local count = module.take or prev.n
  if count > prev.n then
    wrong(module.place, "a module takes more operands than there are; expected `take` = %d at most; found %d",
      prev.n, count)
  end
  for i = 1, count do node[i] = prev[i] end
  for i, weight in pairs(module.weights or {}) do node[count + i] = weight end
  for key, value in pairs(module.attrs or {}) do node[key] = value end
  local domain, type = module.type:match("^(.*)%.([^.]*)$")
  local function build()
    if domain then return op[domain][type](node) end
    return op[module.type](node)
  end
  return {n = module.outputs or 1, blame(module.place, build)}
end

local function run_inserter(t, op, insert, prev)
  local made = blame(nil, insert, op, prev, t.m.graph)
  if type(made) == "userdata" then return {n = 1, made} end
  if type(made) ~= "table" or #made == 0 then
    wrong(t.place, "an inserter returns the values that it made, the replacement last; found %s", shown(made))
  end
  return {n = 1, made[#made]}
end

--- Builds the graft: each item gets the values of the item before it. The last
--- result is the replacement.
function Match:graft(op, graft)
  local prev = self.operands
  local function run(item)
    if kind(item) == "module" then
      prev = run_module(op, item, prev)
    elseif type(item) == "function" then
      prev = run_inserter(self, op, item, prev)
    else
      wrong(self.place, "an item of a graft is neither a module nor an inserter; found %s", shown(item))
    end
  end
  for _, item in ipairs(graft) do
    local items = type(item) == "function" and {blame(nil, item, self)} or {item}
    if #items == 0 then wrong(self.place, "a function of the graft yields nothing") end
    for _, each in ipairs(items) do run(each) end
  end
  return prev[1]
end

local matches = {}

--- The object t for a match m of the plan's pattern.
function matches.read(plan, m)
  local t = setmetatable({plan = plan, m = m, place = plan.place, operands = {n = 0}, pre_trunk_nodes = {}}, Match)
  collect(t, plan.root, t.operands)
  if plan.root.fork then t.pre_trunk_nodes[1] = m[plan.root.operator.name] end
  return t
end

--- Ends the match if a predicate returns false or nil.
function matches.ask(t)
  for _, each in ipairs(t.plan.predicates) do
    for _, node in ipairs(nodes_of(t, each.entry)) do
      need(blame(nil, each.ask, node), "the check at " .. shown_path(each.entry.path) .. " says no", node)
    end
  end
end

return matches
