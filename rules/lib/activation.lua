--- Activations in all their spellings: functions from patterns to a pattern.
local product = lib "product"

local activation = {}

-- 0.5 x (1 + f), multiplied in any order, or out: h + h f where h = x / 2. `more` is another pattern of 1 + f.
local function half_gated(op, x, f, more)
  local gate = op.Add(f, 1)
  return either(
    product.of(op, {x, 0.5, more and either(gate, more) or gate}),
    op.Mul(x, op.Add(product.of(op, {f, 0.5}), 0.5)),
    product.of(op, {op.Add(op.Mul(x, f), x), 0.5}),
    op.Add(product.of(op, {x, 0.5, f}), product.of(op, {x, 0.5})))
end

--- 0.5 x (1 + erf(x / sqrt 2)), or 0.5 x (1 - erf(-x / sqrt 2)).
function activation.gelu(op, x)
  local factor = math.sqrt(0.5)
  local scaled = product.of(op, {x, factor})
  local negative = either(product.of(op, {x, -factor}), product.of(op, {op.Neg(x), factor}), op.Neg(scaled))
  return half_gated(op, x, op.Erf(scaled), op.Sub(1, op.Erf(negative)))
end

-- factor (x + 0.044715 x^3), with x multiplied in or out.
local function bent(op, x, factor)
  local cubic = 0.044715
  return either(
    product.of(op, {factor, op.Add(product.of(op, {cubic, x, x, x}), x)}),
    product.of(op, {factor, x, op.Add(product.of(op, {cubic, x, x}), 1)}),
    op.Add(product.of(op, {factor * cubic, x, x, x}), product.of(op, {factor, x})),
    op.Mul(x, op.Add(product.of(op, {factor * cubic, x, x}), factor)))
end

-- 0.5 x (1 + tanh(y)) or x sigmoid(2 y), where y = sqrt(2 / pi) (x + 0.044715 x^3).
local function tanh_gelu(op, x)
  local factor = math.sqrt(2 / math.pi)
  return either(
    half_gated(op, x, op.Tanh(bent(op, x, factor))),
    op.Mul(x, op.Sigmoid(bent(op, x, 2 * factor))))
end

--- Either kind of gelu; the second is tagged `tanh`.
function activation.any_gelu(op, x)
  return either(activation.gelu(op, x), tanh_gelu(op, x):as "tanh")
end

return activation
