--- Collectives of other runtimes, named by options as domain::Op.
local foreign = {}

foreign.KINDS = { "all_reduce", "all_gather", "reduce_scatter" }

foreign.options = { all_reduce = "", all_gather = "", reduce_scatter = "", group = "group", sized = false,
  axis = "axis", ranks = 0, rank = { "number" }, sum = "sum", ignored = "" }

--- The domain and the type that an option names; nil if it is empty.
function foreign.op(name)
  if name == "" then return nil end
  local domain, type = name:match "^(.+)::([^:]+)$"
  need(domain, "a collective is named as domain::Op", name)
  return domain, type
end

--- The nodes of an op that an option names.
function foreign.nodes(graph, name)
  local domain, type = foreign.op(name)
  return domain and graph:nodes{ op = type, domain = domain } or {}
end

--- The ranks of the whole model.
function foreign.all_ranks(count)
  local ranks = {}
  for i = 1, count do ranks[i] = i - 1 end
  return ranks
end

--- The ranks that a node works with.
function foreign.group(node, options)
  local group = node.attrs[options.group]
  if type(group) == "table" and #group > 0 then return group end
  local count = type(group) == "number" and group or options.ranks
  need(count >= 1, "neither the node nor the option `ranks` gives the ranks", node)
  need(count <= 65536, "more than 65,536 ranks", node)
  return foreign.all_ranks(count)
end

--- The axis that a node works along.
function foreign.axis(node, options)
  local axis = node.attrs[options.axis]
  need(type(axis) == "number", "the node does not say its axis", node)
  return axis
end

-- The names that runtimes give to the attribute for the kind of reduction.
local REDUCTIONS = { op = true, reduce_op = true, reduction = true, reduce_type = true, reduction_op = true }

--- Ends the match if a node has an attribute that no option names.
function foreign.need_known_attributes(node, kind, options)
  for _, name in ipairs(node.attribute_names) do
    local ignored = ("," .. options.ignored .. ","):find("," .. name .. ",", 1, true)
    local known = name == options.group or kind ~= "all_reduce" and name == options.axis
      or kind ~= "all_gather" and REDUCTIONS[name]
    need(known or ignored, "the attribute " .. name .. " is not known; `ignored` names those that do not matter", node)
  end
end

--- Whether the node computes a sum, as far as its attributes state the
--- reduction.
function foreign.adds_up(node, options)
  for _, name in ipairs(node.attribute_names) do
    if REDUCTIONS[name] and tostring(node.attrs[name]):lower() ~= options.sum:lower() then return false end
  end
  return true
end

return foreign
