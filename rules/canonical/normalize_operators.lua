--- Remove operators that return their input unchanged.

return rule {
  doc = [[
    f(x)   =>   x   if f changes neither shape, type nor numbers

    Identity; Cast to the same type; Transpose that keeps the order; Reshape, Expand, Flatten, Tile and forward Slice
    that keep the shape; Pad by 0; Concat, Sum, Max, Min and Mean of one input; Split into one output;
    x + 0, x - 0, x 1, x / 1 and x ^ 1; sum, mean, product, maximum and minimum over axes of one place.
    An Identity whose result is a graph output stays if its input is an input, an initializer or another output.]],
  phase = "canonical",

  match = function(op, x, pads, steps)
    return either(
      op.Identity(x),
      op.Cast{x, to = any},
      op.Transpose{x, perm = any},
      op.Expand(x, any),
      op.Reshape{x, any, allowzero = any},
      op.Flatten{x, axis = any},
      op.Tile(x, any),
      op.Slice(x, any, any, maybe(any), maybe(steps)),
      op.Pad{x, pads, maybe(any), maybe(any), mode = any},
      op.Split{x, maybe(any), axis = any, num_outputs = any, outputs = 1},
      op.Concat{x, axis = any}, op.Sum(x), op.Max(x), op.Min(x), op.Mean(x),
      op.ReduceSum{x, maybe(any), attrs = any}, op.ReduceMean{x, maybe(any), attrs = any},
      op.ReduceProd{x, maybe(any), attrs = any}, op.ReduceMax{x, maybe(any), attrs = any},
      op.ReduceMin{x, maybe(any), attrs = any},
      op.Add(x, 0), op.Sub(x, 0), op.Mul(x, 1), op.Div(x, 1), op.Pow(x, 1)):as "step"
  end,

  where = function(m)
    local y = m.step.outputs[1]
    need(m.x.dtype == y.dtype, "the type changes", y)
    if m.step.op ~= "Identity" and m.step.op ~= "Cast" then
      need(m.x.shape == y.shape, "the shape changes", y)
    end
    if m.step.op == "Transpose" then
      for i, axis in ipairs(m.step.attrs.perm) do need(axis == i - 1, "the order of axes changes", y) end
    end
    need(not m.steps or m.steps:among(1), "the Slice may go backwards", m.steps)
    need(not m.pads or m.pads:among(0), "the Pad may remove as much as it adds", m.pads)
  end,

  rewrite = function(op, m) return m.x end,

  examples = {
    { "a Cast to the same type, a Reshape to the same shape", [[
        (float[2,3] x) => (float[2,3] y) <int64[2] s = {2,3}> {
          a = Cast <to = 1> (x)
          b = Reshape(a, s)
          c = Identity(b)
          y = Neg(c)
        }]],
      "y = Neg(x)" },
    { "operands that change nothing", [[
        (float[2,3] x) => (float[2,3] y) <float zero = {0.0}, float[1] one = {1.0}> {
          a = Add(zero, x)
          b = Mul(a, one)
          c = Div(b, one)
          d = Sub(c, zero)
          e = Pow(d, one)
          y = Neg(e)
        }]],
      "y = Neg(x)" },
    { "a full Slice, an empty Pad, and one operand", [[
        (float[B,3] x) => (float[B,3] y)
          <int64[1] first = {0}, int64[1] last = {9223372036854775807}, int64[1] axis = {1},
          int64[4] none = {0,0,0,0}, int64[2] once = {1,1}> {
          a = Slice(x, first, last, axis)
          b = Pad(a, none)
          c = Concat <axis = 0> (b)
          d = Tile(c, once)
          e = Sum(d)
          f = Split <num_outputs = 1> (e)
          y = Neg(f)
        }]],
      "y = Neg(x)" },
    { "reductions of one place", [[
        (float[2,1,3] x) => (float[2,1,3] y) <int64[1] axis = {1}> {
          a = ReduceMean(x, axis)
          b = ReduceMax(a, axis)
          c = ReduceSum(b, axis)
          d = ReduceMin(c, axis)
          e = ReduceProd(d, axis)
          y = Neg(e)
        }]],
      "y = Neg(x)" },
    { "a reduction of two places", [[
        (float[2,2,3] x) => (float[2,1,3] y) <int64[1] axis = {1}> {
          y = ReduceMean(x, axis)
        }]],
      rejected = "the shape changes" },
    { "backwards", [[
        (float[2,3] x) => (float[2,3] y)
          <int64[1] last = {2}, int64[1] first = {-4}, int64[1] axis = {1}, int64[1] back = {-1}> {
          y = Slice(x, last, first, axis, back)
        }]],
      rejected = "the Slice may go backwards" },
    { "a row less here and one more there", [[
        (float[2,3] x) => (float[2,3] y) <int64[4] pads = {1,0,-1,0}> {
          y = Pad(x, pads)
        }]],
      rejected = "the Pad may remove as much as it adds" },
    { "an operand that broadcasts", [[
        (float[] x) => (float[1] y) <float[1] c = {1.0}> {
          y = Mul(x, c)
        }]],
      rejected = "the shape changes" },
    { "a Transpose that moves axes of equal length", [[
        (float[3,3] x) => (float[3,3] y) {
          y = Transpose <perm = [1,0]> (x)
        }]],
      rejected = "the order of axes changes" },
  },
}
