--- GELU as the standard writes it.
local activation = lib "activation"

return rule {
  doc = [[ 0.5 x (1 + erf(x / sqrt 2))   =>   Gelu(x)    from opset 20 on; the factors in any order ]],
  phase = "target",

  match = function(op, x) return activation.gelu(op, x) end,

  where = function(m)
    need(m.x.dtype == "float", "runtimes differ in the types that Gelu takes", m.x)
  end,

  rewrite = function(op, m) return op.Gelu(m.x) end,

  examples = {
    { "half of it first", [[
        (float[2,3] x) => (float[2,3] y) <float r = {1.4142135}, float one = {1.0}, float half = {0.5}> {
          d = Div(x, r)
          e = Erf(d)
          a = Add(e, one)
          h = Mul(x, half)
          y = Mul(h, a)
        }]],
      "y = Gelu(x)" },
    { "another divisor", [[
        (float[2,3] x) => (float[2,3] y) <float r = {1.5}, float one = {1.0}, float half = {0.5}> {
          d = Div(x, r)
          e = Erf(d)
          a = Add(e, one)
          h = Mul(x, half)
          y = Mul(h, a)
        }]],
      [[r2 = Constant <value = float {1.5}> ()
        d = Div(x, r2)
        e = Erf(d)
        one2 = Constant <value = float {1.0}> ()
        a = Add(e, one2)
        half2 = Constant <value = float {0.5}> ()
        h = Mul(x, half2)
        y = Mul(h, a)]] },
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
