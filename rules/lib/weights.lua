--- Arithmetic on weights. Those of 16 bits are computed in floats, and rounded once.
local weights = {}

-- Two functions: from `dtype` to the type to compute in, and back.
function weights.casts(op, dtype)
  if dtype ~= "float16" and dtype ~= "bfloat16" then
    local function same(value) return value end
    return same, same
  end
  return function(value) return op.Cast{value, to = "float"} end,
    function(value) return op.Cast{value, to = dtype} end
end

-- Whether a constant that was computed, or nil, can be stored as `dtype`: no half may become infinite.
function weights.fits(op, value, dtype)
  if not value or dtype ~= "float16" then return true end
  local largest = op.ReduceMax(op.Abs(value)):scalar()
  return largest and largest < 65504
end

return weights
