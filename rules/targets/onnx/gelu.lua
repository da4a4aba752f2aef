--- GELU, and its approximation by tanh, as the standard's op.
local activation = lib "activation"

return rule {
  doc = [[
    0.5 x (1 + erf(x / sqrt 2))                         =>   Gelu(x)
    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))   =>   Gelu(x, approximate = "tanh")

    Needs opset 20; the factors may be in any order, and multiplied out.]],
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
    { "half of the erf, plus a half", [[
        (float[2,3] x) => (float[2,3] y) <float r = {1.4142135}, float two = {2.0}, float half = {0.5}> {
          d = Div(x, r)
          e = Erf(d)
          h = Div(e, two)
          a = Add(h, half)
          y = Mul(x, a)
        }]],
      "y = Gelu(x)" },
    { "half of x, plus half of x times the erf", [[
        (float[2,3] x) => (float[2,3] y) <float r = {0.70710677}, float half = {0.5}> {
          h = Mul(x, half)
          d = Mul(x, r)
          e = Erf(d)
          p = Mul(h, e)
          y = Add(h, p)
        }]],
      "y = Gelu(x)" },
    { "half of a sum", [[
        (float[2,3] x) => (float[2,3] y) <float r = {0.70710677}, float two = {2.0}> {
          d = Mul(x, r)
          e = Erf(d)
          p = Mul(x, e)
          s = Add(x, p)
          y = Div(s, two)
        }]],
      "y = Gelu(x)" },
    { "the erf of the negative", [[
        (float[2,3] x) => (float[2,3] y) <float r = {-0.70710677}, float one = {1.0}, float half = {0.5}> {
          d = Mul(x, r)
          e = Erf(d)
          g = Sub(one, e)
          p = Mul(g, half)
          y = Mul(x, p)
        }]],
      "y = Gelu(x)" },
    { "with tanh, x multiplied out", [[
        (float[2,3] x) => (float[2,3] y)
          <float c = {0.044715}, float r = {0.7978846}, float one = {1.0}, float half = {0.5}> {
          p = Mul(c, x)
          q = Mul(p, x)
          s = Add(q, one)
          u = Mul(r, x)
          t = Mul(u, s)
          e = Tanh(t)
          a = Add(one, e)
          h = Mul(x, half)
          y = Mul(h, a)
        }]],
      "y = Gelu <approximate = \"tanh\"> (x)" },
    { "with tanh, all multiplied in", [[
        (float[2,3] x) => (float[2,3] y)
          <float c = {0.03567741}, float r = {0.7978846}, float one = {1.0}, float half = {0.5}> {
          q = Mul(x, x)
          k = Mul(q, x)
          p = Mul(k, c)
          u = Mul(x, r)
          t = Add(u, p)
          e = Tanh(t)
          a = Add(e, one)
          h = Mul(a, half)
          y = Mul(h, x)
        }]],
      "y = Gelu <approximate = \"tanh\"> (x)" },
    { "with a sigmoid, x squared", [[
        (float[2,3] x) => (float[2,3] y) <float c = {0.07135481}, float r = {1.5957691}, float two = {2.0}> {
          q = Pow(x, two)
          p = Mul(q, c)
          s = Add(p, r)
          t = Mul(x, s)
          e = Sigmoid(t)
          y = Mul(x, e)
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
