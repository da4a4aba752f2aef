--- GELU, and its approximation by tanh, as ops of ONNX Runtime.
local activation = lib "activation"

return rule {
  doc = [[
    0.5 x (1 + erf(x / sqrt 2))                         =>   com.microsoft.Gelu(x)
    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))   =>   com.microsoft.FastGelu(x)

    The factors may be in any order.]],
  phase = "target",

  match = function(op, x) return activation.any_gelu(op, x) end,

  where = function(m)
    need(m.x.dtype == "float", "the op does not have this type on every device", m.x)
    need(not m.tanh or m.x:rank() ~= 0, "FastGelu needs an axis", m.x)
  end,

  rewrite = function(op, m)
    return m.tanh and op["com.microsoft"].FastGelu(m.x) or op["com.microsoft"].Gelu(m.x)
  end,

  examples = {
    { "half of it last", [[
        (float[2,3] x) => (float[2,3] y) <float r = {0.70710677}, float one = {1.0}, float half = {0.5}> {
          d = Mul(x, r)
          e = Erf(d)
          a = Add(one, e)
          g = Mul(x, a)
          y = Mul(g, half)
        }]],
      "y = com.microsoft.Gelu(x)" },
    { "by a tanh, the cube as a product", [[
        (float[2,3] x) => (float[2,3] y)
        <float c = {0.044715}, float r = {0.7978846}, float one = {1.0}, float half = {0.5}> {
          s = Mul(x, x)
          p = Mul(s, x)
          q = Mul(p, c)
          u = Add(x, q)
          t = Mul(u, r)
          e = Tanh(t)
          a = Add(e, one)
          h = Mul(a, half)
          y = Mul(x, h)
        }]],
      "y = com.microsoft.FastGelu(x)" },
    { "in doubles", [[
        (double[2,3] x) => (double[2,3] y) <double r = {0.70710677}, double one = {1.0}, double half = {0.5}> {
          d = Mul(x, r)
          e = Erf(d)
          a = Add(one, e)
          g = Mul(x, a)
          y = Mul(g, half)
        }]],
      rejected = "does not have this type on every device" },
  },
}
