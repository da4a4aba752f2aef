--- Join factors that follow each other, and remove what is undone.
return rule {
  doc = [[
    (x a) b, (x a) / b, (x / a) b, (x / a) / b   =>   x c     a, b: numbers from 1e-4 to 1e4, or their negatives
    -(-x), not not x                             =>   x ]],

  match = function(op, x, a, b)
    a:const()
    x:type("float", "float16", "bfloat16", "double")
    local first = either(op.Mul(x, a), op.Div(x, a):as "first")
    return either(
      op.Mul(first, b), op.Div(first, b):as "last",
      op.Neg(op.Neg(x)):as "undone")
  end,

  where = function(m)
    if m.undone then return end
    local function factor(v)
      local number = need(v:scalar(), "a factor is not one number", v)
      local size = math.abs(number)
      need(size >= 1e-4 and size <= 1e4, "a factor is very small or large", v)
      return number
    end
    local a, b = factor(m.a), factor(m.b)
    m.factor = (m.first and 1 / a or a) * (m.last and 1 / b or b)
  end,

  rewrite = function(op, m)
    return m.undone and m.x or op.Mul(m.x, m.factor)
  end,

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
    { "negative twice", [[
        (float[2,3] x) => (float[2,3] y) {
          a = Neg(x)
          b = Neg(a)
          y = Relu(b)
        }]],
      "y = Relu(x)" },
    { "a large factor", [[
        (float[2,3] x) => (float[2,3] y) <float a = {1e30}, float b = {1e-30}> {
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
