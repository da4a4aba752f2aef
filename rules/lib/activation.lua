--- Activations in all their spellings: functions from patterns to a pattern.
local activation = {}

--- 0.5 x (1 + erf(x / sqrt 2)), the factors in any order.
function activation.gelu(op, x)
  local erf = op.Erf(either(op.Div(x, math.sqrt(2)), op.Mul(x, math.sqrt(0.5))))
  local gate = op.Add(erf, 1)
  return either(op.Mul(op.Mul(x, gate), 0.5), op.Mul(op.Mul(x, 0.5), gate), op.Mul(x, op.Mul(gate, 0.5)))
end

return activation
