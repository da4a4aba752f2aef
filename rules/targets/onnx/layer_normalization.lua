--- A norm by mean and variance as the standard's op.
local norm = lib "norm"

return rule {
  doc = [[
    (x - mean(x)) / sqrt(variance(x) + epsilon) * w + b   =>   LayerNormalization(x, w, b, epsilon)

    Over the last axis; needs opset 17. There may be no b, or neither, and w may be multiplied in earlier. If x has a
    smaller type, the quotient is computed in float and cast back, as in the op.]],
  phase = "target",

  match = function(op, x, w, b, epsilon) return norm.layer(op, x, w, b, epsilon) end,

  where = function(m)
    norm.need_runtimes(m, m.x)
    norm.need_vector(m.w, m.x)
    norm.need_vector(m.b, m.x)
    norm.need_whole(m)
    -- ONNX Runtime 1.23 computes the variance as the mean of squares minus the square of the mean.
    assume("means are no more than 100 times the deviations", m.x)
  end,

  rewrite = function(op, m)
    local w, b = m.w and norm.vector(op, m.w, m.x), m.b and norm.vector(op, m.b, m.x)
    if not w then
      w = {}
      for i = 1, m.x:dim(-1) do w[i] = 1 end
    end
    return op.LayerNormalization{m.x, w, b, axis = -1, epsilon = norm.epsilon(m.epsilon)}
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
    { "the weight first, and no bias", [[
        (float[2,3,4] x, float[4] w) => (float[2,3,4] y)
        <float two = {2.0}, float tiny = {0.00001}, int64[1] last = {-1}, float power = {-0.5}> {
          m = ReduceMean(x, last)
          c = Sub(x, m)
          s = Pow(c, two)
          v = ReduceMean(s, last)
          a = Add(v, tiny)
          r = Pow(a, power)
          i = Mul(r, w)
          y = Mul(c, i)
        }]],
      "y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, w)",
      assumed = "means are no more than 100 times the deviations" },
    { "the bias less the mean, as in TensorFlow", [[
        (float[2,3,4] x, float[4] w, float[4] b) => (float[2,3,4] y)
        <float tiny = {0.00001}, int64[1] last = {-1}> {
          m = ReduceMean(x, last)
          c = Sub(x, m)
          s = Mul(c, c)
          v = ReduceMean(s, last)
          a = Add(v, tiny)
          r = Sqrt(a)
          q = Reciprocal(r)
          i = Mul(q, w)
          p = Mul(x, i)
          n = Mul(m, i)
          z = Sub(b, n)
          y = Add(p, z)
        }]],
      "y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, w, b)",
      assumed = "means are no more than 100 times the deviations" },
    { "a root as a power, neither weight nor bias, a sum after it", [[
        (float[2,3,4] x, float[2,3,4] z) => (float[2,3,4] y)
        <float two = {2.0}, float tiny = {0.00001}, int64[1] last = {-1}, float half = {0.5}> {
          m = ReduceMean(x, last)
          c = Sub(x, m)
          s = Pow(c, two)
          v = ReduceMean(s, last)
          a = Add(v, tiny)
          r = Pow(a, half)
          n = Div(c, r)
          y = Add(n, z)
        }]],
      [[ones = Constant <value = float[4] {1,1,1,1}> ()
        n = LayerNormalization <axis = -1, epsilon = 0.00001> (x, ones)
        y = Add(n, z)]],
      assumed = "means are no more than 100 times the deviations" },
    { "a constant weight of three axes, and one bias for all", [[
        (float[2,3,4] x) => (float[2,3,4] y)
        <float two = {2.0}, float tiny = {0.00001}, int64[1] last = {-1}, float[1,1,4] w = {1,2,3,4},
          float b = {0.25}> {
          m = ReduceMean(x, last)
          c = Sub(x, m)
          s = Pow(c, two)
          v = ReduceMean(s, last)
          a = Add(v, tiny)
          r = Sqrt(a)
          p = Mul(c, w)
          q = Div(p, r)
          y = Add(q, b)
        }]],
      [[w1 = Constant <value = float[4] {1,2,3,4}> ()
        b1 = Constant <value = float[4] {0.25,0.25,0.25,0.25}> ()
        y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, w1, b1)]],
      assumed = "means are no more than 100 times the deviations" },
    { "a weight for each token", [[
        (float[2,3,4] x, float[3,1] w) => (float[2,3,4] y)
        <float two = {2.0}, float tiny = {0.00001}, int64[1] last = {-1}> {
          m = ReduceMean(x, last)
          c = Sub(x, m)
          s = Pow(c, two)
          v = ReduceMean(s, last)
          a = Add(v, tiny)
          r = Sqrt(a)
          i = Reciprocal(r)
          f = Mul(i, w)
          y = Mul(c, f)
        }]],
      rejected = "it is not a weight or bias of the last axis" },
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
