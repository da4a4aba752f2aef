--- Linear layers in all their spellings: functions from patterns to a pattern.
local linear = {}

--- x w^T + b, or without b; w arrives as [out, in].
function linear.any(op, x, w, b)
  return either(
    op.ruleengine.Linear(x, w, maybe(b)),
    op.Gemm{x, w, maybe(b), transB = 1},
    op.Gemm{x, w.T, maybe(b)},
    op.Add(op.MatMul(x, w.T), b),
    op.MatMul(x, w.T))
end

return linear
