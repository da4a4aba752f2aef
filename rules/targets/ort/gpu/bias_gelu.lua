--- A bias and the GELU of the sum as one op of ONNX Runtime.
local activation = lib "activation"

return rule {
  doc = [[
    0.5 (x + b) (1 + erf((x + b) / sqrt 2)), or the standard's Gelu(x + b)   =>   BiasGelu(x, b)

    ONNX Runtime's CPU kernel takes 2.6 times as long as that of Gelu, and a product can add the bias at no cost. So the
    target does not include this rule; for GPUs, give this folder to a run in addition to the packs.]],
  phase = "target",

  match = function(op, x, b)
    x:shape "... D"
    b:shape "D"
    local sum = op.Add(x, b)
    return either(op.Gelu(sum), activation.gelu(op, sum))
  end,

  where = function(m)
    need(m.x:dim(-1) ~= 0, "older runtimes crash on an empty bias", m.x)
    need(m.x.dtype == "float", "BiasGelu does not have this type on every device", m.x)
  end,

  rewrite = function(op, m) return op["com.microsoft"].BiasGelu(m.x, m.b) end,

  examples = {
    { "half of it first", [[
        (float[2,3] x, float[3] b) => (float[2,3] y) <float r = {1.4142135}, float one = {1.0}, float half = {0.5}> {
          s = Add(b, x)
          d = Div(s, r)
          e = Erf(d)
          a = Add(e, one)
          h = Mul(s, half)
          y = Mul(h, a)
        }]],
      "y = com.microsoft.BiasGelu(x, b)" },
    { "of the standard's op", [[
        (float[2,3] x, float[3] b) => (float[2,3] y) {
          s = Add(b, x)
          y = Gelu(s)
        }]],
      "y = com.microsoft.BiasGelu(x, b)" },
    { "in doubles", [[
        (double[2,3] x, double[3] b) => (double[2,3] y)
          <double r = {1.4142135}, double one = {1.0}, double half = {0.5}> {
          s = Add(b, x)
          d = Div(s, r)
          e = Erf(d)
          a = Add(e, one)
          h = Mul(s, half)
          y = Mul(h, a)
        }]],
      rejected = "BiasGelu does not have this type" },
  },
}
