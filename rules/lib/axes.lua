--- Axes, counted from either end.
local axes = {}

--- An axis of a tensor of this rank, counted from the front.
function axes.from_front(axis, rank) return axis < 0 and axis + rank or axis end

--- The order of axes that a Transpose makes; nil if it is not known, or no order of the axes.
function axes.order(turn)
  local rank, order, seen = turn.inputs[1]:rank(), turn.attrs.perm, {}
  if not order and not rank then return nil end
  if not order then
    order = {}
    for i = rank, 1, -1 do order[#order + 1] = i - 1 end
  end
  for _, axis in ipairs(order) do
    if axis < 0 or axis >= #order or seen[axis] then return nil end
    seen[axis] = true
  end
  return #order == (rank or #order) and order or nil
end

--- Starts, axes and steps of a Slice as three lists of one length; nil if one is not constant.
function axes.starts(slice, rank)
  local given, along, steps = {}, {}, {}
  for _, i in ipairs{2, 4, 5} do
    local input = slice.inputs[i]
    given[i] = input and input:constant() or {}
    if input and (#given[i] == 0 or #given[i] ~= #given[2]) then return nil end
  end
  for i in ipairs(given[2]) do
    along[i], steps[i] = axes.from_front(given[4][i] or i - 1, rank), given[5][i] or 1
  end
  return given[2], along, steps
end

--- Starts, ends, axes and steps of a Slice as lists; nil if one is not constant.
function axes.limits(slice, rank)
  local starts, along, steps = axes.starts(slice, rank)
  local ends = slice.inputs[3]:constant()
  return starts and ends and #ends == #starts and {starts, ends, along, steps}
end

return axes
