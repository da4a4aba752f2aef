--- Linear layers and attention in windows, in standard ops and ScaledDotProductAttention.
return rule {
  doc = [[
    Linear, RelativePositionBias, SwinAttention, SwinWindowReverse
      =>   their formulas (docs/dialect.md)

    Sizes that are known are computed at once.]],
  phase = "target",

  match = function(op)
    local own = op.ruleengine
    return either(
      own.Linear{any, inputs = any},
      own.RelativePositionBias{any, inputs = any, attrs = any},
      own.SwinAttention{any, inputs = any, attrs = any},
      own.SwinWindowReverse{any, inputs = any, attrs = any}):as "call"
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "a linear layer", [[
        (float[3,2] x, float[1] b) => (float[3,1] y) <float[1,2] w = {1,2}> { y = ruleengine.Linear(x, w, b) }]],
      [[wt = Constant <value = float[2,1] {1,2}> ()
        p = MatMul(x, wt)
        y = Add(p, b)]] },
    { "windows of no size", [[
        (float[9,3] table, int64[0] index) => (float[] y) {
          y = ruleengine.RelativePositionBias <window_size = [2,0]> (table, index)
        }]],
      rejected = "window_size is not two positive numbers" },
  },
}
