--- Collectives of other runtimes, named by options as domain::Op.
local foreign = {}

foreign.KINDS = { "all_reduce", "all_gather", "reduce_scatter" }

foreign.options = { all_reduce = "", all_gather = "", reduce_scatter = "", group = "group", sized = false, axis = "axis",
  ranks = 0, rank = { "number" }, sum = "sum", ignored = "" }

--- The domain and the type that an option names; nil where it names nothing.
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
  need(count >= 1, "the node does not say its ranks, nor does the option `ranks`", node)
  need(count <= 65536, "nobody has so many ranks", node)
  return foreign.all_ranks(count)
end

--- The axis that a node works along.
function foreign.axis(node, options)
  local axis = node.attrs[options.axis]
  need(type(axis) == "number", "the node does not say its axis", node)
  return axis
end

-- What runtimes call the way in which values are reduced.
local REDUCTIONS = { op = true, reduce_op = true, reduction = true, reduce_type = true, reduction_op = true }

--- Ends the match where a node has an attribute that is none of the ones named.
function foreign.need_known_attributes(node, kind, options)
  for _, name in ipairs(node.attribute_names) do
    local ignored = ("," .. options.ignored .. ","):find("," .. name .. ",", 1, true)
    local known = name == options.group or kind ~= "all_reduce" and name == options.axis
      or kind ~= "all_gather" and REDUCTIONS[name]
    need(known or ignored, "the attribute " .. name .. " is not known; `ignored` names those that do not matter", node)
  end
end

--- Whether the node adds values up, as far as it says how it reduces them.
function foreign.adds_up(node, options)
  for _, name in ipairs(node.attribute_names) do
    if REDUCTIONS[name] and tostring(node.attrs[name]):lower() ~= options.sum:lower() then return false end
  end
  return true
end

return foreign
