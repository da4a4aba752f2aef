--- The words of the tree grammar, which lib "tree" exports. They store what they
--- describe, with its place, until `match` runs.
local words = {}

local function kind(name)
  local meta = {kind = name}
  meta.__index = meta
  return meta
end
local Check, Fork, Wildcard, Shared = kind "check", kind "fork", kind "wildcard", kind "shared check"
local Getitem, Variable, Constant, Module = kind "getitem", kind "variable", kind "constant", kind "module"

--- "check", "fork", ...; nil for anything else.
function words.kind(v) return type(v) == "table" and getmetatable(v) and getmetatable(v).kind or nil end

--- Reports a mistake at a place: "what is wrong; expected E; found F; hint H".
--- The last three are optional.
function words.wrong(place, ...)
  local said, what = {place = place}, string.format(...)
  for _, part in ipairs{"hint", "found", "expected"} do
    local before, after = what:match("^(.-); " .. part .. " (.*)$")
    if before then what, said[part] = before, after end
  end
  said.what = what
  mistake(said)
end

--- A value as errors show it.
function words.shown(v)
  if v == nil then return "nothing" end
  if type(v) == "string" then return "'" .. v .. "'" end
  if type(v) == "number" then return tostring(v) end
  return "a " .. (words.kind(v) or type(v))
end

--- "(0, 2)".
function words.shown_path(path) return #path == 0 and "the root" or "(" .. table.concat(path, ", ") .. ")" end

local wrong, shown = words.wrong, words.shown

--- A check for a node of one of these ops. `detail` is the table of a node in
--- the function style: attributes by name, and the other operands by index.
--- Without `detail` all attributes are accepted. `predicate` may follow
--- `detail` or replace it.
function words.is(ops, detail, predicate)
  local place = here()
  if type(ops) == "string" then ops = {ops} end
  if type(ops) ~= "table" or #ops == 0 then
    wrong(place, "is() takes the name of an op, or a list of them; found %s", shown(ops))
  end
  for _, name in ipairs(ops) do
    if type(name) ~= "string" then wrong(place, "is() takes names of ops; found %s", shown(name)) end
  end
  if type(detail) == "function" then detail, predicate = nil, detail end
  if detail ~= nil and type(detail) ~= "table" then
    wrong(place, "is() describes a node in a table; found %s", shown(detail))
  end
  return setmetatable({place = place, ops = ops, detail = detail, facts = {}, predicates = {predicate}}, Check)
end

--- A check in the function style: build(op, name, below, ...) returns a pattern
--- with `below` as its input; name "w" is a variable.
function words.pattern(build)
  if type(build) ~= "function" then
    wrong(here(), "pattern() takes a function(op, name, below); found %s", shown(build))
  end
  return setmetatable({place = here(), build = build, facts = {}, predicates = {}}, Check)
end

local most_asked = 24  -- ops that one predicate may accept

-- The ops that a predicate may accept. It is called for each known op, with a
-- node that has only an op and a domain. If it reads anything else, the op may
-- be accepted, and the real node decides.
local function ops_of(predicate, place)
  local unknown, ops = {}, {}
  for _, name in ipairs(known_ops()) do
    local domain, op = name:match("^(.*)%.([^.]*)$")
    local node = setmetatable({op = op or name, domain = domain or ""}, {__index = function() error(unknown) end})
    local told, answer = pcall(predicate, node)
    if not told and not rawequal(answer, unknown) then error(answer, 0) end
    if not told or answer then ops[#ops + 1] = name end
  end
  if #ops == 0 then
    wrong(place, "the predicate rejects every known op; expected is(\"domain.Op\", predicate)")
  end
  if #ops > most_asked then
    wrong(place, "the predicate may accept %d ops; expected one that looks at node.op first, or is(\"Op\", f)", #ops)
  end
  return ops
end

--- v as a check: a string is the name of an op, a function is a predicate.
function words.check(v, place, what)
  if type(v) == "string" then
    return setmetatable({place = place, ops = {v}, facts = {}, predicates = {}}, Check)
  end
  if type(v) == "function" then
    return setmetatable({place = place, ops = ops_of(v, place), facts = {}, predicates = {v}}, Check)
  end
  if words.kind(v) ~= "check" then wrong(place, "%s is not a check; found %s", what, shown(v)) end
  return v
end

--- A check with a predicate, a function(node) that returns true or false; or a
--- predicate alone.
function words.node_check(check, predicate)
  local place = here()
  if predicate == nil then return words.check(check, place, "the argument of node_check()") end
  if type(predicate) ~= "function" then
    wrong(place, "node_check() takes a check and a function(node); found %s", shown(predicate))
  end
  local old = words.check(check, place, "the first argument of node_check()")
  local new = setmetatable({place = place, ops = old.ops, detail = old.detail, build = old.build, tag = old.tag,
    facts = {}, predicates = {}}, Check)
  for i, fact in ipairs(old.facts) do new.facts[i] = fact end
  for i, each in ipairs(old.predicates) do new.predicates[i] = each end
  new.predicates[#new.predicates + 1] = predicate
  return new
end

--- A check that matches the same node wherever it is used; without a check, the
--- same value.
function words.SharedNodeCheck(check)
  local place = here()
  return setmetatable({place = place, check = check and words.check(check, place, "what is shared")}, Shared)
end

--- A chain of nodes that all pass the check: at most one ("?"), any number
--- ("*"), one or more ("+").
function words.Wildcard(check, count)
  local place = here()
  if count ~= "?" and count ~= "*" and count ~= "+" then
    wrong(place, "a wildcard takes \"?\", \"*\" or \"+\"; found %s", shown(count))
  end
  return setmetatable({place = place, check = words.check(check, place, "the check of a wildcard"), count = count},
    Wildcard)
end

--- In a sequence: output i, counted from 0, of the previous node.
function words.getitem(i)
  if type(i) ~= "number" or i < 0 or i > 100 or i % 1 ~= 0 then
    wrong(here(), "getitem() takes the number of an output; found %s", shown(i))
  end
  return setmetatable({place = here(), index = i}, Getitem)
end

--- A name: one value, attribute or dimension wherever it stands; t.m.NAME.
function words.variable(name)
  if type(name) ~= "string" then wrong(here(), "variable() takes a name; found %s", shown(name)) end
  return setmetatable({place = here(), name = name}, Variable)
end

--- A constant; with a shape such as "1", one that broadcasts to it.
function words.constant(shape)
  if shape ~= nil and type(shape) ~= "string" then
    wrong(here(), "constant() takes a shape such as \"1\"; found %s", shown(shape))
  end
  return setmetatable({place = here(), shape = shape}, Constant)
end

-- check:shape "B H S D", :rank(4), :type "float16", :const "K N", :dim(-1, "D"), :fits "1": of the node's result.
for _, word in ipairs{"shape", "rank", "type", "const", "dim", "fits"} do
  Check[word] = function(check, ...)
    if words.kind(check) ~= "check" then wrong(here(), ":%s is not called on a check; found %s", word, shown(check)) end
    check.facts[#check.facts + 1] = {word = word, place = here(), ...}
    return check
  end
end

--- check:as "attend": the name by which warnings speak of its node, and t.m.attend.
function Check.as(check, name)
  if words.kind(check) ~= "check" or type(name) ~= "string" then
    wrong(here(), ":as of a check takes a name; found %s", shown(name))
  end
  check.tag = name
  return check
end

local function check_permutations(place, fork)
  local all = fork.perms_override
  if all == nil then return end
  if type(all) ~= "table" or #all == 0 then
    wrong(place, "perms_override is a list of orders; found %s", shown(all))
  end
  for _, order in ipairs(all) do
    local seen = {}
    if type(order) ~= "table" or #order == 0 then
      wrong(place, "an order of perms_override is a list of branches, counted from 0; found %s", shown(order))
    end
    for _, branch in ipairs(order) do
      if type(branch) ~= "number" or branch % 1 ~= 0 or branch < 0 or branch >= #fork.inputs or seen[branch] then
        wrong(place, "perms_override names branch %s; expected each of 0 to %d once at most",
          shown(branch), #fork.inputs - 1)
      end
      seen[branch] = true
    end
  end
end

local fork_keys = {inputs = "table", operator = true, output = "table", perms_override = true}

--- A node and what feeds it: `inputs`, one tree for each operand; `operator`,
--- its check; `output`, the sequence after it.
function words.Fork(fork)
  local place = here()
  if type(fork) ~= "table" then wrong(place, "Fork takes a table; found %s", shown(fork)) end
  for key in pairs(fork) do
    if not fork_keys[key] then
      wrong(place, "a fork has no key %s; expected inputs, operator, output, perms_override", shown(key))
    end
  end
  if type(fork.inputs) ~= "table" or #fork.inputs == 0 then
    wrong(place, "`inputs` of a fork is a list of trees; found %s", shown(fork.inputs))
  end
  if words.kind(fork.operator) == "shared check" then
    wrong(place, "the operator of a fork cannot be shared; a shared check begins a sequence")
  end
  if fork.output ~= nil and (type(fork.output) ~= "table" or getmetatable(fork.output)) then
    wrong(place, "`output` of a fork is a list of checks; found %s", shown(fork.output))
  end
  check_permutations(place, fork)
  return setmetatable({place = place, inputs = fork.inputs, output = fork.output or {},
    operator = words.check(fork.operator, place, "`operator` of a fork"), perms_override = fork.perms_override}, Fork)
end

local module_keys = {type = "string", attrs = "table", weights = "table", take = "number", outputs = "number"}

--- For a graft: one node. `type` is its op, `attrs` its attributes, `weights`
--- the inputs after its operands, `take` the number of operands (default: all),
--- `outputs` the number of outputs (default: 1).
function words.module(node)
  local place = here()
  if type(node) ~= "table" then wrong(place, "module() takes a table; found %s", shown(node)) end
  for key, value in pairs(node) do
    if module_keys[key] ~= type(value) then
      wrong(place, "`%s` of a module; expected type, attrs, weights, take or outputs; found %s",
        tostring(key), shown(value))
    end
  end
  if not node.type then wrong(place, "a module has no `type`") end
  return setmetatable({place = place, type = node.type, attrs = node.attrs, weights = node.weights, take = node.take,
    outputs = node.outputs}, Module)
end

return words
