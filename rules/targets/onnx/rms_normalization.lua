--- A norm by the root of the mean square as the standard's op.
local norm = lib "norm"

return rule {
  doc = [[
    x / sqrt(mean(x^2) + epsilon) * w   =>   RMSNormalization(x, w, epsilon)    over the last axis; needs opset 23

    w may be multiplied in earlier. If x has a smaller type, the quotient is computed in float and cast back, as in the
    op.]],
  phase = "target",
  after = "layer_normalization",

  match = function(op, x, w, epsilon) return norm.rms(op, x, w, epsilon) end,

  where = function(m)
    norm.need_runtimes(m, m.x)
    norm.need_vector(m.w, m.x)
  end,

  rewrite = function(op, m)
    return op.RMSNormalization{m.x, norm.vector(op, m.w, m.x), axis = -1, epsilon = norm.epsilon(m.epsilon)}
  end,

  examples = {
    { "a root that divides one", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4] x, float[4] w) => (float[2,3,4] y)
        <float two = {2.0}, float tiny = {0.000001}, float one = {1.0}, int64[1] last = {-1}> {
          s = Pow(x, two)
          m = ReduceMean(s, last)
          a = Add(m, tiny)
          r = Sqrt(a)
          d = Div(one, r)
          n = Mul(x, d)
          y = Mul(w, n)
        }]],
      "y = RMSNormalization <axis = -1, epsilon = 0.000001> (x, w)" },
    { "float16 normalized in float", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float16[2,3,4] x, float16[4] w) => (float16[2,3,4] y)
        <float two = {2.0}, float tiny = {0.000001}, int64[1] last = {-1}> {
          f = Cast <to = 1> (x)
          s = Pow(f, two)
          m = ReduceMean(s, last)
          a = Add(m, tiny)
          r = Sqrt(a)
          i = Reciprocal(r)
          n = Mul(f, i)
          h = Cast <to = 10> (n)
          y = Mul(w, h)
        }]],
      "y = RMSNormalization <axis = -1, epsilon = 0.000001> (x, w)" },
    { "a constant weight of three axes, first", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4] x) => (float[2,3,4] y)
        <float two = {2.0}, float tiny = {0.000001}, int64[1] last = {-1}, float[1,1,4] w = {1,2,3,4}> {
          s = Pow(x, two)
          m = ReduceMean(s, last)
          a = Add(m, tiny)
          r = Sqrt(a)
          p = Mul(x, w)
          y = Div(p, r)
        }]],
      [[w1 = Constant <value = float[4] {1,2,3,4}> ()
        y = RMSNormalization <axis = -1, epsilon = 0.000001> (x, w1)]] },
    { "an epsilon that is computed", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4] x, float[4] w, float tiny) => (float[2,3,4] y) <float two = {2.0}, int64[1] last = {-1}> {
          s = Pow(x, two)
          m = ReduceMean(s, last)
          a = Add(m, tiny)
          r = Sqrt(a)
          n = Div(x, r)
          y = Mul(n, w)
        }]],
      rejected = "epsilon is not a constant" },
  },
}
