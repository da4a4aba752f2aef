--- Norms over the last axis in all their spellings: functions from patterns to a pattern.
local norm = {}

--- x / sqrt(mean(x^2) + epsilon) * w. x is [...,D], w [D].
function norm.rms(op, x, w, epsilon)
  x:shape "... D"
  w:shape "D"
  local square = either(op.Pow(x, 2), op.Mul(x, x))
  local root = op.Sqrt(op.Add(op.ReduceMean(square, {-1}), epsilon))
  return op.Mul(either(op.Div(x, root), op.Mul(x, either(op.Div(1, root), op.Reciprocal(root)))), w)
end

--- The number that a match's epsilon is.
function norm.epsilon(epsilon)
  local number = need(epsilon:scalar(), "epsilon is not a constant", epsilon)
  return need(number >= 0 and number, "epsilon is negative", epsilon)
end

--- Whether m.x and m.skip are [B,S,D] both, of a type that ONNX Runtime adds and norms at once.
function norm.need_skip(m)
  need(m.x.dtype == "float", "the op has no such type on every device", m.x)
  need(m.x:rank() == 3, "it is not a sum of [batch, length, width]", m.x)
  need(m.skip:rank() == 3, "the summands have different shapes", m.skip)
  for axis = 0, 2 do need(m.x:dim(axis) == m.skip:dim(axis), "the summands have different shapes", m.skip) end
end

return norm
