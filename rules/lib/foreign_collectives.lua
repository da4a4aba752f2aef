--- Collectives of other runtimes, named by options as domain::Op.
local foreign = {}

foreign.KINDS = { "all_reduce", "all_gather", "reduce_scatter" }

foreign.options = { all_reduce = "", all_gather = "", reduce_scatter = "", group = "group", sized = false, axis = "axis",
  ranks = 0, rank = 0 }

--- The domain and the type that an option names; nil where it names nothing.
function foreign.op(name)
  return name:match "^(.*)::([^:]+)$"
end

--- The nodes of an op that an option names.
function foreign.nodes(graph, name)
  local domain, type = foreign.op(name)
  return domain and graph:nodes{ op = type, domain = domain } or {}
end

--- The ranks that a node works with; nil where nothing says which.
function foreign.group(node, options)
  local group = node.attrs[options.group]
  local count = type(group) == "number" and group or options.ranks
  if type(group) == "table" and #group > 0 then return group end
  if count < 1 then return nil end
  local ranks = {}
  for i = 1, count do ranks[i] = i - 1 end
  return ranks
end

--- The axis that a node works along; nil where it does not say.
function foreign.axis(node, options)
  local axis = node.attrs[options.axis]
  return type(axis) == "number" and axis or nil
end

--- Whether a reduction is a sum, as far as the names go that runtimes have for that.
function foreign.is_sum(node)
  for _, name in ipairs{ "op", "reduce_op", "reduction", "reduce_type" } do
    local kind = node.attrs[name]
    if type(kind) == "string" and kind:lower() ~= "sum" or type(kind) == "number" and kind ~= 0 then return false end
  end
  return true
end

return foreign
