--- Axes, counted from either end.
local axes = {}

--- An axis of a tensor of this rank, counted from the front.
function axes.from_front(axis, rank) return axis < 0 and axis + rank or axis end

return axes
