--- What stands in bodies, in the place of the nodes that have them.
local bodies = {}

-- The readers of a node read `values` instead, one for each output that is read. Returns the first, for `rewrite`.
function bodies.replace(node, values)
  local outputs = node.outputs
  for i = 1, #outputs do
    if outputs[i] and values[i] then outputs[i]:replace_with(values[i]) end
  end
  return values[1]
end

-- The bodies of functions take the places of these calls.
function bodies.inline(calls)
  for _, call in ipairs(calls) do
    attempt(call, function() bodies.replace(call, {call:inline()}) end)
  end
end

return bodies
