--- A residual sum and its norm as one op of ONNX Runtime.
local norm = lib "norm"

return rule {
  doc = [[
    LayerNormalization(x + skip, w, b, epsilon)   =>   SkipLayerNormalization(x, skip, w, b, epsilon)

    The op returns the sum as well. ONNX Runtime's CPU kernel takes two to six times as long as a sum and a norm, so the
    target does not include this rule; for GPUs, give this folder to a run in addition to the packs.]],
  phase = "target",

  match = function(op, x, skip, w, b, epsilon)
    w:shape "D"
    b:shape "D"
    local sum = op.Add(x, skip):shape "_ _ D"
    return op.LayerNormalization{sum, w, maybe(b), axis = -1, epsilon = epsilon, stash_type = any}, sum
  end,

  where = function(m)
    need(m.x.dtype == "float" or m.x.dtype == "float16", "the op does not have this type on every device", m.x)
    need(m.epsilon >= 0, "epsilon is negative", m.x)
    norm.need_skip(m)
  end,

  rewrite = function(op, m)
    local y, _, _, sum = op["com.microsoft"].SkipLayerNormalization{m.x, m.skip, m.w, m.b, epsilon = m.epsilon,
      outputs = 4}
    return y, sum
  end,

  examples = {
    { "a sum with other readers", [[
        (float[2,3,4] x, float[2,3,4] z, float[4] w, float[4] b) => (float[2,3,4] y, float[2,3,4] t) {
          s = Add(x, z)
          y = LayerNormalization <axis = -1, epsilon = 0.001> (s, w, b)
          t = Tanh(s)
        }]],
      [[y, mean, variance, s = com.microsoft.SkipLayerNormalization <epsilon = 0.001> (x, z, w, b)
        t = Tanh(s)]] },
    { "one row for all tokens", [[
        (float[2,3,4] x, float[4] z, float[4] w) => (float[2,3,4] y) {
          s = Add(x, z)
          y = LayerNormalization(s, w)
        }]],
      rejected = "the summands have different shapes" },
  },
}
