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
    { "one window, which needs no roll", [[
        (float[2,2,4,3] q, float[2,2,4,3] k, float[2,2,4,3] v, float[9,2] table, int64[16] index) => (float[2,4,6] y)
        <int64[7] spatial = {2,2,2,2,2,0,0}> {
          y = ruleengine.SwinAttention <window_size = [2,2], num_heads = 2, head_dim = 3> (q, k, v, table, index, spatial)
        }]],
      [[flat = Constant <value = int64[1] {-1}> ()
        i = Reshape(index, flat)
        g = Gather <axis = 0> (table, i)
        s = Constant <value = int64[3] {4,4,-1}> ()
        r = Reshape(g, s)
        t = Transpose <perm = [2,0,1]> (r)
        first = Constant <value = int64[1] {0}> ()
        b = Unsqueeze(t, first)
        a = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 3> (q, k, v, b)
        u = Transpose <perm = [0,2,1,3]> (a)
        m = Constant <value = int64[3] {0,0,6}> ()
        y = Reshape(u, m)]] },
    { "windows of no size", [[
        (float[9,3] table, int64[0] index) => (float[] y) {
          y = ruleengine.RelativePositionBias <window_size = [2,0]> (table, index)
        }]],
      rejected = "window_size is not two positive numbers" },
  },
}
