--- Read smaller operands with the same information.
return rule {
  doc = [[
    Where(b, x, expand(c))   =>   Where(b, x, c)       if x has the full shape; c may come from ConstantOfShape too
    CastLike(x, y)           =>   Cast(x)              to the type of y
    IsNaN(Cast(x))           =>   IsNaN(x)             if x is of floats, of which only NaN becomes NaN]],
  phase = "canonical",

  match = function(op, b, x, c, y)
    c:fits "1"
    local filled = either(op.Expand(c, any), op.ConstantOfShape{any, attrs = any}:as "filled")
    local function chosen()
      x:type("float", "float16", "bfloat16", "double")
      return either(op.Where(b, x, filled), op.Where(b, filled, x):as "hidden"):as "chosen"
    end
    return either(chosen, op.CastLike(x, y):as "like", op.IsNaN(context(op.Cast{x, to = any})):as "asked")
  end,

  where = function(m)
    if m.chosen then need(m.x.shape == m.chosen.outputs[1].shape, "the shape comes from the constant", m.x) end
    local typed = m.like and m.y or m.asked and m.x
    need(not typed or typed.dtype, "the type is unknown", typed)
  end,

  rewrite = function(op, m)
    if m.like then return op.Cast{m.x, to = m.y.dtype} end
    if m.asked then return m.asked:with(m.x) end
    local c = m.c or m.filled:with({1})
    return m.hidden and op.Where(m.b, c, m.x) or op.Where(m.b, m.x, c)
  end,

  examples = {
    { "a number from ConstantOfShape", [[
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
    { "the shape comes from ConstantOfShape", [[
        (bool[2,1,8] b, float[2,1,8] x, float c) => (float[2,8,8] y) <int64[3] s = {2,8,8}> {
          f = Expand(c, s)
          y = Where(b, f, x)
        }]],
      rejected = "the shape comes from the constant" },
    { "the type of another value", [[
        (double[2,3] x, float[4] t) => (float[2,3] y) { y = CastLike(x, t) }]],
      "y = Cast <to = 1> (x)" },
    { "probabilities that are narrowed", [[
        (float[2,8] x) => (float16[2,8] p, bool[2,8] y) {
          p = Cast <to = 10> (x)
          y = IsNaN(p)
        }]],
      "p = Cast <to = 10> (x) y = IsNaN(x)" },
  },
}
