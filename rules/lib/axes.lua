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

--- Starts, ends, axes and steps of a Slice as lists; nil if one is not constant.
function axes.limits(slice, rank)
  local given, out = {}, { {}, {}, {}, {} }
  for i = 1, 4 do
    local input = slice.inputs[i + 1]
    given[i] = input and input:constant() or {}
    if input and #given[i] == 0 then return nil end
  end
  for i, start in ipairs(given[1]) do
    out[1][i], out[2][i] = start, given[2][i]
    out[3][i], out[4][i] = axes.from_front(given[3][i] or i - 1, rank), given[4][i] or 1
  end
  return out
end

return axes
