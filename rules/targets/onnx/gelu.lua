--- GELU, and its approximation by tanh, as the standard's op.
local activation = lib "activation"

return rule {
  doc = [[
    0.5 x (1 + erf(x / sqrt 2))                         =>   Gelu(x)
    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))   =>   Gelu(x, approximate = "tanh")

    Needs opset 20; the factors may be in any order.]],
  phase = "target",

  match = function(op, x) return activation.any_gelu(op, x) end,

  where = function(m)
    need(m.x.dtype == "float", "runtimes differ in the types that Gelu accepts", m.x)
  end,

  rewrite = function(op, m) return op.Gelu{m.x, approximate = m.tanh and "tanh" or "none"} end,

  examples = {
    { "one half as the first factor", [[
        (float[2,3] x) => (float[2,3] y) <float r = {1.4142135}, float one = {1.0}, float half = {0.5}> {
          d = Div(x, r)
          e = Erf(d)
          a = Add(e, one)
          h = Mul(x, half)
          y = Mul(h, a)
        }]],
      "y = Gelu(x)" },
    { "with tanh", [[
        (float[2,3] x) => (float[2,3] y)
        <float three = {3.0}, float c = {0.044715}, float r = {0.7978846}, float one = {1.0}, float half = {0.5}> {
          h = Mul(x, half)
          p = Pow(x, three)
          q = Mul(p, c)
          s = Add(x, q)
          t = Mul(s, r)
          e = Tanh(t)
          a = Add(e, one)
          y = Mul(h, a)
        }]],
      "y = Gelu <approximate = \"tanh\"> (x)" },
    { "in doubles", [[
        (double[2,3] x) => (double[2,3] y) <double r = {1.4142135}, double one = {1.0}, double half = {0.5}> {
          d = Div(x, r)
          e = Erf(d)
          a = Add(e, one)
          h = Mul(x, half)
          y = Mul(h, a)
        }]],
      rejected = "runtimes differ in the types" },
  },
}
