--- The tree grammar: a pattern is a tree of checks, its replacement is a graft;
--- docs/tree.md has every word. A tree becomes the pattern that `match` would
--- state, so matching, `explain` and the report are those of any rule.
local words, trees, matches = lib "tree_words", lib "tree_pattern", lib "tree_match"
local wrong, shown = words.wrong, words.shown

local tree = {
  Fork = words.Fork, Wildcard = words.Wildcard, SharedNodeCheck = words.SharedNodeCheck, is = words.is,
  node_check = words.node_check, pattern = words.pattern, getitem = words.getitem, variable = words.variable,
  constant = words.constant, module = words.module,
}

local own = {tree = true, graft = true, where = true, replace = true}

local function check_graft(place, graft)
  if type(graft) ~= "table" or words.kind(graft) or #graft == 0 then
    wrong(place, "`graft` is a list of functions of the match, or of modules; found %s", shown(graft))
  end
  for _, item in ipairs(graft) do
    if type(item) ~= "function" and words.kind(item) ~= "module" then
      wrong(place, "an item of `graft` is neither a function nor a module; found %s", shown(item))
    end
  end
end

--- The table for `rule`: `tree` and `graft` for match and rewrite; `where(t)`
--- ends matches as a rule's `where` does; `replace(t, op, graft)` runs around
--- the graft and returns the result of graft(). All other keys are those of a
--- rule.
function tree.rule(keys)
  local place = here()
  if type(keys) ~= "table" then wrong(place, "tree.rule takes a table; found %s", shown(keys)) end
  for _, key in ipairs{"match", "rewrite", "pass", "together"} do
    if keys[key] then wrong(place, "`%s` beside `tree`; expected tree, graft, where and replace", key) end
  end
  if keys.tree == nil then wrong(place, "tree.rule has no `tree`") end
  check_graft(place, keys.graft)
  for _, key in ipairs{"where", "replace"} do
    if keys[key] ~= nil and type(keys[key]) ~= "function" then
      wrong(place, "`%s` is a function; found %s", key, shown(keys[key]))
    end
  end
  local plan = trees.plan(keys.tree, place)
  plan.place = place
  local where, replace, graft = keys.where, keys.replace, keys.graft

  local rule = {}
  for key, value in pairs(keys) do
    if not own[key] then rule[key] = value end
  end
  function rule.match(op)
    local value = blame(place, trees.build, op, plan)
    return value
  end
  function rule.where(m)
    m.tree = matches.read(plan, m)
    matches.ask(m.tree)
    if where then blame(nil, where, m.tree) end
  end
  function rule.rewrite(op, m)
    local t = m.tree
    t.m = m
    if not replace then return t:graft(op, graft) end
    -- select() avoids a tail call: blame needs a stack frame of this file.
    return select(1, blame(nil, replace, t, op, function() return t:graft(op, graft) end))
  end
  return rule
end

return tree
