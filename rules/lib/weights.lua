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

-- The largest magnitude in a constant.
function weights.largest(op, value)
  return op.ReduceMax(op.Abs(value)):scalar()
end

return weights
