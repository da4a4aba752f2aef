--- A residual sum and its norm by the root of the mean square as one op of ONNX Runtime.
local norm = lib "norm"

return rule {
  doc = [[
    s = x + skip; s / sqrt(mean(s^2) + epsilon) * w   =>   SkipSimplifiedLayerNormalization(x, skip, w, epsilon)

    The op returns the sum as well. If that has a smaller type, the quotient is computed in float and cast back, as in
    the op.]],
  phase = "target",

  match = function(op, x, skip, w, epsilon)
    local sum = op.Add(x, skip)
    return norm.rms(op, sum, w, epsilon), sum
  end,

  where = function(m)
    norm.need_runtimes(m, m.x)
    norm.need_vector(m.w, m.x)
    norm.need_skip(m)
  end,

  rewrite = function(op, m)
    local y, _, _, sum = op["com.microsoft"].SkipSimplifiedLayerNormalization{m.x, m.skip, norm.vector(op, m.w, m.x),
      epsilon = norm.epsilon(m.epsilon), outputs = 4}
    return y, sum
  end,

  examples = {
    { "a sum with other readers", [[
        (float[2,3,4] x, float[2,3,4] z, float[4] w) => (float[2,3,4] y, float[2,3,4] s)
        <float two = {2.0}, float tiny = {0.000001}, int64[1] last = {-1}> {
          s = Add(x, z)
          p = Pow(s, two)
          m = ReduceMean(p, last)
          a = Add(m, tiny)
          r = Sqrt(a)
          n = Div(s, r)
          y = Mul(w, n)
        }]],
      "y, mean, variance, s = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.000001> (x, z, w)" },
    { "float16 normalized in float", [[
        (float16[2,3,4] x, float16[2,3,4] z, float16[4] w) => (float16[2,3,4] y, float16[2,3,4] s)
        <float two = {2.0}, float tiny = {0.000001}, int64[1] last = {-1}> {
          s = Add(x, z)
          f = Cast <to = 1> (s)
          p = Pow(f, two)
          m = ReduceMean(p, last)
          a = Add(m, tiny)
          r = Sqrt(a)
          n = Div(f, r)
          h = Cast <to = 10> (n)
          y = Mul(w, h)
        }]],
      "y, mean, variance, s = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.000001> (x, z, w)" },
    { "one row for all tokens", [[
        (float[2,3,4] x, float[4] z, float[4] w) => (float[2,3,4] y)
        <float two = {2.0}, float tiny = {0.000001}, int64[1] last = {-1}> {
          s = Add(x, z)
          p = Pow(s, two)
          m = ReduceMean(p, last)
          a = Add(m, tiny)
          r = Sqrt(a)
          n = Div(s, r)
          y = Mul(w, n)
        }]],
      rejected = "the summands have different shapes" },
  },
}
