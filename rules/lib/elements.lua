--- The origin of a value's elements.
local elements = {}

-- Ops that only move, repeat, drop or zero the elements of their first input.
local MOVES = { Expand = true, Gather = true, Identity = true, Reshape = true, Slice = true, Squeeze = true,
  Transpose = true, Trilu = true, Unsqueeze = true }

--- Whether each element of the node's result is one of its first input, or 0.
function elements.moves(node) return MOVES[node.op] == true end

--- The value that x comes from, before nodes that only move, repeat, drop or
--- zero elements.
function elements.origin(x)
  while x.producer and elements.moves(x.producer) do x = x.producer.inputs[1] end
  return x
end

return elements
