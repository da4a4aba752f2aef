--- A norm by mean and variance as the standard's op.
local norm = lib "norm"

return rule {
  doc = [[
    (x - mean(x)) / sqrt(variance(x) + epsilon) * w + b   =>   LayerNormalization(x, w, b, epsilon)

    Over the last axis; needs opset 17. If x has a smaller type, the quotient is computed in float and cast back, as in the
    op.]],
  phase = "target",

  match = function(op, x, w, b, epsilon) return norm.layer(op, x, w, b, epsilon) end,

  where = function(m)
    norm.need_runtimes(m, m.x)
    -- ONNX Runtime 1.23 computes the variance as the mean of squares minus the square of the mean.
    assume("means are no more than 100 times the deviations", m.x)
  end,

  rewrite = function(op, m)
    return op.LayerNormalization{m.x, m.w, m.b, axis = -1, epsilon = norm.epsilon(m.epsilon)}
  end,

  examples = {
    { "in floats", [[
        (float[2,3,4] x, float[4] w, float[4] b) => (float[2,3,4] y)
        <float two = {2.0}, float tiny = {0.00001}, int64[1] last = {-1}> {
          m = ReduceMean(x, last)
          c = Sub(x, m)
          s = Pow(c, two)
          v = ReduceMean(s, last)
          a = Add(v, tiny)
          r = Sqrt(a)
          n = Div(c, r)
          p = Mul(n, w)
          y = Add(p, b)
        }]],
      "y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, w, b)",
      assumed = "means are no more than 100 times the deviations" },
    { "float16 normalized in float", [[
        (float16[2,3,4] x, float16[4] w, float16[4] b) => (float16[2,3,4] y)
        <float tiny = {0.00001}, int64[1] last = {-1}> {
          f = Cast <to = 1> (x)
          m = ReduceMean(f, last)
          c = Sub(f, m)
          s = Mul(c, c)
          v = ReduceMean(s, last)
          a = Add(v, tiny)
          r = Sqrt(a)
          i = Reciprocal(r)
          n = Mul(c, i)
          h = Cast <to = 10> (n)
          p = Mul(w, h)
          y = Add(b, p)
        }]],
      "y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, w, b)",
      assumed = "means are no more than 100 times the deviations" },
    { "an epsilon that is computed", [[
        (float[2,3,4] x, float[4] w, float[4] b, float tiny) => (float[2,3,4] y)
        <float two = {2.0}, int64[1] last = {-1}> {
          m = ReduceMean(x, last)
          c = Sub(x, m)
          s = Pow(c, two)
          v = ReduceMean(s, last)
          a = Add(v, tiny)
          r = Sqrt(a)
          n = Div(c, r)
          p = Mul(n, w)
          y = Add(p, b)
        }]],
      rejected = "epsilon is not a constant" },
  },
}
