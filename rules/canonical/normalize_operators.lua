--- Take out operators that hand on their input as it is.
return rule {
  doc = [[
    f(x)   =>   x   for every f that changes neither shape, type nor numbers

    Identity; Cast to the type that is there; Transpose that moves nothing; Reshape and Expand that keep
    the shape.
    An Identity that hands an input, an initializer or another output to a graph output stays.]],
  phase = "canonical",

  match = function(op, x)
    return either(
      op.Identity(x),
      op.Cast{x, to = any},
      op.Transpose{x, perm = any},
      op.Expand(x, any),
      op.Reshape{x, any, allowzero = any}):as "step"
  end,

  where = function(m)
    local y = m.step.outputs[1]
    need(m.x.dtype == y.dtype, "the type changes", y)
    if m.step.op ~= "Identity" and m.step.op ~= "Cast" then
      need(m.x.shape == y.shape, "the shape changes", y)
    end
    if m.step.op == "Transpose" then
      for i, axis in ipairs(m.step.attrs.perm) do need(axis == i - 1, "axes move", y) end
    end
  end,

  rewrite = function(op, m) return m.x end,

  examples = {
    { "a Cast to the type that is there, a Reshape to the shape that is there", [[
        (float[2,3] x) => (float[2,3] y) <int64[2] s = {2,3}> {
          a = Cast <to = 1> (x)
          b = Reshape(a, s)
          c = Identity(b)
          y = Neg(c)
        }]],
      "y = Neg(x)" },
    { "a Transpose that moves axes of equal length", [[
        (float[3,3] x) => (float[3,3] y) {
          y = Transpose <perm = [1,0]> (x)
        }]],
      rejected = "axes move" },
  },
}
