--- Where the elements of a value come from.
local elements = {}

-- Ops that move, repeat, leave out or zero what they are given, and make nothing else of it.
local MOVES = { Expand = true, Gather = true, Identity = true, Reshape = true, Slice = true, Squeeze = true,
  Transpose = true, Trilu = true, Unsqueeze = true }

--- Whether each element of the node's result is one of its first input, or 0.
function elements.moves(node) return MOVES[node.op] == true end

--- The value that x was before its elements were only moved, repeated, left out or zeroed.
function elements.origin(x)
  while x.producer and elements.moves(x.producer) do x = x.producer.inputs[1] end
  return x
end

return elements
