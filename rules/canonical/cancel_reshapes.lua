--- Take out a Reshape that gives back the shape that another one took away.
return rule {
  doc = [[
    Reshape(Reshape(x, _), shape of x)   =>   x]],
  phase = "canonical",

  match = function(op, x)
    return op.Reshape{context(op.Reshape{x, any, attrs = any}), any, attrs = any}:as "back"
  end,

  where = function(m)
    local y = m.back.outputs[1]
    need(m.x.shape and m.x.shape == y.shape, "the shape is another one", y)
  end,

  rewrite = function(op, m) return m.x end,

  examples = {
    { "there and back", [[
        (float[2,3,4] x) => (float[2,3,4] y) <int64[1] flat = {-1}, int64[3] s = {2,3,4}> {
          a = Reshape(x, flat)
          b = Reshape(a, s)
          y = Neg(b)
        }]],
      "y = Neg(x)" },
    { "to another shape", [[
        (float[2,3,4] x) => (float[4,3,2] y) <int64[1] flat = {-1}, int64[3] s = {4,3,2}> {
          a = Reshape(x, flat)
          y = Reshape(a, s)
        }]],
      rejected = "the shape is another one" },
  },
}
