--- Remove operands that change nothing, and choices that always fall on one side.
return rule {
  doc = [[
    f(x, c)         =>   x       x + 0, x - 0, x 1, x / 1, x ^ 1, and with true, or and xor with false; each number of c
    Where(c, x, y)  =>   x       c always true; or x and y are one value
    not not x       =>   x       -(-x) likewise]],

  match = function(op, x, y, zeros, ones, on, off, c)
    zeros:const()
    ones:const()
    on:const()
    off:const()
    return either(
      op.Add(x, zeros), op.Sub(x, zeros), op.Mul(x, ones), op.Div(x, ones), op.Pow(x, ones),
      op.And(x, on), op.Or(x, off), op.Xor(x, off),
      op.Where(any, x, x), op.Where(c, x, y),
      op.Not(op.Not(x)), op.Neg(op.Neg(x))):as "step"
  end,

  where = function(m)
    local y = m.step.outputs[1]
    local operand = m.zeros or m.ones or m.on or m.off
    need(not operand or operand:among((m.ones or m.on) and 1 or 0), "the operand changes numbers", operand)
    if m.c then
      m.falls = m.c:among(0)
      need(m.falls or m.c:among(1), "the choice falls on both sides", m.c)
    end
    need((m.falls and m.y or m.x).shape == y.shape, "the shape changes", y)
  end,

  rewrite = function(op, m) return m.falls and m.y or m.x end,

  examples = {
    { "zeros and ones", [[
        (float[2,3] x) => (float[2,3] y) <float[3] zeros = {0.0,0.0,0.0}, float[2,1] ones = {1.0,1.0}> {
          a = Add(zeros, x)
          b = Mul(ones, a)
          c = Sub(b, zeros)
          d = Div(c, ones)
          e = Pow(d, ones)
          y = Neg(e)
        }]],
      "y = Neg(x)" },
    { "truths", [[
        (bool[2,3] x) => (bool[2,3] y) <bool[1,3] all = {1,1,1}, bool[2,1] none = {0,0}> {
          a = And(all, x)
          b = Or(none, a)
          c = Xor(b, none)
          d = Not(c)
          e = Not(d)
          y = Not(e)
        }]],
      "y = Not(x)" },
    { "negative twice", [[
        (int64[2,3] x) => (int64[2,3] y) {
          a = Neg(x)
          b = Neg(a)
          y = Abs(b)
        }]],
      "y = Abs(x)" },
    { "a choice of one value, and choices that are known", [[
        (float[2,3] x, float[1,3] z, bool[2,3] c) => (float[2,3] y) <bool[1] yes = {1}, bool[2,3] no = {0,0,0,0,0,0}> {
          a = Where(c, x, x)
          b = Where(yes, a, z)
          d = Where(no, z, b)
          y = Neg(d)
        }]],
      "y = Neg(x)" },
    { "one number is another", [[
        (float[2,3] x) => (float[2,3] y) <float[3] c = {0.0,0.0,1.0}> { y = Add(x, c) }]],
      rejected = "the operand changes numbers" },
    { "a choice by place", [[
        (float[2] x, float[2] z) => (float[2] y) <bool[2] c = {1,0}> {
          y = Where(c, x, z)
        }]],
      rejected = "the choice falls on both sides" },
    { "ones of a larger shape", [[
        (float[1,3] x) => (float[2,3] y) <float[2,1] ones = {1.0,1.0}> { y = Mul(x, ones) }]],
      rejected = "the shape changes" },
  },
}
