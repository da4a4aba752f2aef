--- Linear layers in all their spellings: functions from patterns to a pattern.
local linear = {}

--- x w^T + b, or without b; w is bound as [out, in].
function linear.any(op, x, w, b)
  return either(
    op.ruleengine.Linear(x, w, maybe(b)),
    op.Gemm{x, w, maybe(b), transB = 1},
    op.Gemm{x, w.T, maybe(b)},
    op.Add(op.MatMul(x, w.T), b),
    op.MatMul(x, w.T))
end

--- Builds x w^T + b (or without b) from w as [out, in], in ops of ONNX.
function linear.apply(op, x, w, b)
  local product = op.MatMul(x, op.Transpose{w, perm = {1, 0}})
  return b and op.Add(product, b) or product
end

return linear
