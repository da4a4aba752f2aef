--- x times a sigmoid of x (SiLU, and the approximation of GELU by a sigmoid) as an op of ONNX Runtime.
return rule {
  doc = [[ x sigmoid(c x)   =>   com.microsoft.QuickGelu(x, alpha = c) ]],
  phase = "target",

  match = function(op, x, c)
    return op.Mul(x, op.Sigmoid(either(op.Mul(x, c), x)))
  end,

  where = function(m)
    need(m.x.dtype == "float", "QuickGelu does not have this type on every device", m.x)
  end,

  rewrite = function(op, m)
    local alpha = not m.c and 1 or need(m.c:scalar(), "the factor is not a constant", m.c)
    need(not m.c or m.c:rank() <= 1, "the factor is a tensor", m.c)
    return op["com.microsoft"].QuickGelu{m.x, alpha = alpha}
  end,

  examples = {
    { "without a factor", [[
        (float[2,3] x) => (float[2,3] y) {
          s = Sigmoid(x)
          y = Mul(s, x)
        }]],
      "y = com.microsoft.QuickGelu <alpha = 1.0> (x)" },
    { "with one", [[
        (float[2,3] x) => (float[2,3] y) <float c = {1.702}> {
          d = Mul(x, c)
          s = Sigmoid(d)
          y = Mul(x, s)
        }]],
      "y = com.microsoft.QuickGelu <alpha = 1.702> (x)" },
    { "a factor for each column", [[
        (float[2,3] x, float[3] c) => (float[2,3] y) {
          d = Mul(x, c)
          s = Sigmoid(d)
          y = Mul(x, s)
        }]],
      rejected = "the factor is not a constant" },
  },
}
