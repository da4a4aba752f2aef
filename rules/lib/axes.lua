--- Axes, counted from either end.
local axes = {}

--- An axis of a tensor of this rank, counted from the front.
function axes.from_front(axis, rank) return axis < 0 and axis + rank or axis end

--- The order of axes that a Transpose makes; nil if it is not known.
function axes.order(turn)
  local rank = turn.inputs[1]:rank()
  if turn.attrs.perm or not rank then return turn.attrs.perm end
  local reversed = {}
  for i = rank, 1, -1 do reversed[#reversed + 1] = i - 1 end
  return reversed
end

return axes
