--- Read operands that say less than they cost.
return rule {
  doc = [[
    Where(b, x, expand(c))   =>   Where(b, x, c)       where x is as large; c may be filled into a shape too
    CastLike(x, y)           =>   Cast(x)              to the type of y
    Softmax(Flatten(x))      =>   Softmax(Reshape(x))  where all axes but the last are merged, which is known]],
  phase = "canonical",

  match = function(op, b, x, c, y)
    c:fits "1"
    local filled = either(op.Expand(c, any), op.ConstantOfShape{any, attrs = any}:as "filled")
    local function chosen()
      x:type("float", "float16", "bfloat16", "double")
      return either(op.Where(b, x, filled), op.Where(b, filled, x):as "hidden"):as "chosen"
    end
    return either(chosen,
      op.CastLike(x, y):as "like",
      op.Softmax{op.Flatten{x, attrs = any}:as "flat", axis = -1})
  end,

  where = function(m)
    if m.chosen then need(m.x.shape == m.chosen.outputs[1].shape, "the shape is that of the number", m.x) end
    need(not m.like or m.y.dtype, "the type is unknown", m.y)
    if not m.flat then return end
    local rank, axis = need(m.x:rank(), "the rank is unknown", m.x), m.flat.attrs.axis
    need(rank > 1 and (axis == rank - 1 or axis == -1), "more than one axis is left", m.x)
    for i = 0, rank - 1 do need(m.x:dim(i) ~= 0, "there are no elements to count", m.x) end
  end,

  rewrite = function(op, m)
    if m.like then return op.Cast{m.x, to = m.y.dtype} end
    if m.flat then return op.Softmax{op.Reshape(m.x, {-1, m.x:dim(-1)}), axis = -1} end
    local c = m.c or m.filled:with({1})
    return m.hidden and op.Where(m.b, c, m.x) or op.Where(m.b, m.x, c)
  end,

  examples = {
    { "a number filled into the shape", [[
        (bool[2,1,8] b, float[2,8,8] x) => (float[2,8,8] y) <int64[3] s = {2,8,8}> {
          f = ConstantOfShape <value = float[1] {-9.0}> (s)
          y = Where(b, x, f)
        }]],
      "f = Constant <value = float[1] {-9.0}> () y = Where(b, x, f)" },
    { "a number expanded to the shape", [[
        (bool[2,1,8] b, float[2,8,8] x, float c) => (float[2,8,8] y) <int64[3] s = {2,8,8}> {
          f = Expand(c, s)
          y = Where(b, f, x)
        }]],
      "y = Where(b, c, x)" },
    { "the shape is that of what is filled", [[
        (bool[2,1,8] b, float[2,1,8] x, float c) => (float[2,8,8] y) <int64[3] s = {2,8,8}> {
          f = Expand(c, s)
          y = Where(b, f, x)
        }]],
      rejected = "the shape is that of the number" },
    { "a type said by another value", [[
        (double[2,3] x, float[4] t) => (float[2,3] y) { y = CastLike(x, t) }]],
      "y = Cast <to = 1> (x)" },
    { "all axes but the last", [[
        (float[2,3,4] x) => (float[6,4] y) { a = Flatten <axis = 2> (x) y = Softmax(a) }]],
      "s = Constant <value = int64[2] {-1,4}> () a = Reshape(x, s) y = Softmax(a)" },
    { "images", [[
        (float[2,3,4] x) => (float[2,12] y) { a = Flatten(x) y = Softmax(a) }]],
      rejected = "more than one axis is left" },
  },
}
