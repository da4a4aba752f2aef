--- Activations in all their spellings: functions from patterns to a pattern.
local activation = {}

-- 0.5 x gate, the factors in any order.
local function half_gated(op, x, gate)
  return either(op.Mul(op.Mul(x, gate), 0.5), op.Mul(op.Mul(x, 0.5), gate), op.Mul(x, op.Mul(gate, 0.5)))
end

--- 0.5 x (1 + erf(x / sqrt 2)).
function activation.gelu(op, x)
  local erf = op.Erf(either(op.Div(x, math.sqrt(2)), op.Mul(x, math.sqrt(0.5))))
  return half_gated(op, x, op.Add(erf, 1))
end

-- 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
local function tanh_gelu(op, x)
  local cube = either(op.Pow(x, 3), op.Mul(op.Mul(x, x), x))
  local bend = op.Tanh(op.Mul(op.Add(x, op.Mul(cube, 0.044715)), math.sqrt(2 / math.pi)))
  return half_gated(op, x, op.Add(bend, 1))
end

--- Either kind of gelu; the second is tagged `tanh`.
function activation.any_gelu(op, x)
  return either(activation.gelu(op, x), tanh_gelu(op, x):as "tanh")
end

return activation
