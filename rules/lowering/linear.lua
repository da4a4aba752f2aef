--- A linear layer in standard ops.
local linear = lib "linear"

return rule {
  doc = [[ Linear(x, w, b)   =>   x w^T + b ]],
  phase = "target",

  match = function(op, x, w, b) return op.ruleengine.Linear{x, w, maybe(b)} end,
  rewrite = function(op, m) return linear.apply(op, m.x, m.w, m.b) end,

  examples = {
    { "with a bias", [[
        (float[3,2] x, float[1] b) => (float[3,1] y) <float[1,2] w = {1,2}> {
          y = ruleengine.Linear(x, w, b)
        }]],
      [[wt = Constant <value = float[2,1] {1,2}> ()
        p = MatMul(x, wt)
        y = Add(p, b)]] },
    { "a weight that is computed", [[
        (float[B,3,2] x, float[1,2] w) => (float[B,3,1] y) { y = ruleengine.Linear(x, w) }]],
      [[wt = Transpose <perm = [1,0]> (w)
        y = MatMul(x, wt)]] },
  },
}
