--- Name the piecewise forms of a sigmoid and of a swish.
return rule {
  doc = [[
    Clip(x + 3, 0, 6) / 6         =>   HardSigmoid(x, alpha = 1/6)
    x HardSigmoid(x, 1/6, 1/2)    =>   HardSwish(x)                    from opset 14 on
    x Clip(x + 3, 0, 6) / 6       =>   HardSwish(x)                    with the division anywhere]],

  match = function(op, x)
    local raised = op.Add(x, 3)
    local bounded = either(op.Clip(raised, 0, 6), op.Min(op.Max(raised, 0), 6))
    local function sixth(y) return either(op.Div(y, 6), op.Mul(y, 1 / 6)) end
    return either(
      op.Mul(x, op.HardSigmoid{x, alpha = 1 / 6, beta = 0.5}):as "swish",
      op.Mul(x, sixth(bounded)):as "swish",
      sixth(op.Mul(x, bounded)):as "swish",
      op.Mul(sixth(x), bounded):as "swish",
      sixth(bounded))
  end,

  rewrite = function(op, m)
    return m.swish and op.HardSwish(m.x) or op.HardSigmoid{m.x, alpha = 1 / 6, beta = 0.5}
  end,

  examples = {
    { "a swish", [[
        (float[2,3] x) => (float[2,3] y) <float three = {3.0}, float zero = {0.0}, float six = {6.0}> {
          a = Add(x, three)
          b = Clip(a, zero, six)
          c = Mul(x, b)
          y = Div(c, six)
        }]],
      "y = HardSwish(x)" },
    { "of a sigmoid", [[
        (float[2,3] x) => (float[2,3] y) {
          a = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)
          y = Mul(a, x)
        }]],
      "y = HardSwish(x)" },
    { "a sigmoid", [[
        (float[2,3] x) => (float[2,3] y) <float three = {3.0}, float zero = {0.0}, float six = {6.0}> {
          a = Add(x, three)
          b = Clip(a, zero, six)
          y = Div(b, six)
        }]],
      "y = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)" },
    { "a swish by bounds, divided first", [[
        (float[2,3] x) => (float[2,3] y) <float three = {3.0}, float zero = {0.0}, float six = {6.0},
          float sixth = {0.16666667}> {
          a = Add(x, three)
          b = Max(a, zero)
          c = Min(b, six)
          d = Mul(x, sixth)
          y = Mul(c, d)
        }]],
      "y = HardSwish(x)" },
    { "a sigmoid of Keras", [[
        (float[2,3] x) => (float[2,3] y) {
          a = HardSigmoid <alpha = 0.2, beta = 0.5> (x)
          y = Mul(a, x)
        }]],
      "a = HardSigmoid <alpha = 0.2, beta = 0.5> (x) y = Mul(a, x)" },
  },
}
