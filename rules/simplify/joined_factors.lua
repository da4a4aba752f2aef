--- Join factors that follow each other.
return rule {
  doc = [[
    (x a) b, (x a) / b, (x / a) b, (x / a) / b   =>   x c

    a, b and c are numbers from 1e-4 to 1e4 or their negatives; for float16 from 1/16 to 16, since its products soon are
    0 or infinite.]],

  match = function(op, x, a, b)
    a:const()
    x:type("float", "float16", "bfloat16", "double")
    local first = either(op.Mul(x, a), op.Div(x, a):as "first")
    return either(op.Mul(first, b), op.Div(first, b):as "last")
  end,

  where = function(m)
    local most = m.x.dtype == "float16" and 16 or 1e4
    local function moderate(number, v)
      local size = math.abs(number)
      return need(size >= 1 / most and size <= most and number, "a factor is very small or large", v)
    end
    local function factor(v) return moderate(need(v:scalar(), "a factor is not one number", v), v) end
    local a, b = factor(m.a), factor(m.b)
    m.factor = moderate((m.first and 1 / a or a) * (m.last and 1 / b or b), m.x)
  end,

  rewrite = function(op, m) return op.Mul(m.x, m.factor) end,

  examples = {
    { "a product of a quotient", [[
        (float[2,3] x) => (float[2,3] y) <float a = {4.0}, float b = {2.0}> {
          c = Div(x, a)
          y = Mul(c, b)
        }]],
      "k = Constant <value = float {0.5}> () y = Mul(x, k)" },
    { "a quotient of a product", [[
        (float[2,3] x) => (float[2,3] y) <float a = {4.0}, float b = {2.0}> {
          c = Mul(x, a)
          y = Div(c, b)
        }]],
      "k = Constant <value = float {2.0}> () y = Mul(x, k)" },
    { "a large factor", [[
        (float[2,3] x) => (float[2,3] y) <float a = {1e30}, float b = {1e-30}> {
          c = Mul(x, a)
          y = Mul(c, b)
        }]],
      rejected = "a factor is very small or large" },
    { "of half precision", [[
        (float16[2,3] x) => (float16[2,3] y) <float16 a = {32.0}, float16 b = {4.0}> {
          c = Mul(x, a)
          y = Div(c, b)
        }]],
      rejected = "a factor is very small or large" },
    { "whose product is large", [[
        (float[2,3] x) => (float[2,3] y) <float a = {1e3}, float b = {1e3}> {
          c = Mul(x, a)
          y = Mul(c, b)
        }]],
      rejected = "a factor is very small or large" },
    { "of integers", [[
        (int64[2,3] x) => (int64[2,3] y) <int64 a = {2}, int64 b = {4}> {
          c = Div(x, a)
          y = Mul(c, b)
        }]],
      "c = Div(x, a) y = Mul(c, b)" },
    { "numbers first", [[
        (float[2,3] x) => (float[2,3] y) <float a = {4.0}, float b = {0.5}> {
          c = Mul(a, x)
          y = Mul(b, c)
        }]],
      "k = Constant <value = float {2.0}> () y = Mul(x, k)" },
    { "a factor for each column", [[
        (float[2,3] x) => (float[2,3] y) <float a = {4.0}, float[3] b = {1.0,2.0,3.0}> {
          c = Div(x, a)
          y = Mul(c, b)
        }]],
      rejected = "a factor is not one number" },
  },
}
