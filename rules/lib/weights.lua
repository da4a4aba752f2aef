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

local largest = { float16 = 65504, bfloat16 = 3.3e38, float = 3.4e38, double = 1.7e308 }

-- Whether a constant that was computed, or nil, can be stored as `dtype`: no element is infinite or NaN.
function weights.fits(op, value, dtype)
  if not value then return true end
  local least, most = op.ReduceMin(value):scalar(), op.ReduceMax(value):scalar()
  return least and most and -largest[dtype] < least and most < largest[dtype]
end

return weights
