--- Replace what is computed from constants by its value.
return rule {
  doc = [[
    f(c, d, ...)   =>   a constant, if c, d, ... are constants or known sizes

    Not what would compute more than some million elements, make more than 65,536 out of nothing, or be more than 1 MiB
    larger than the constants that it is computed from.]],

  pass = function(graph)
    for _, v in ipairs(graph:known_values()) do
      attempt(v.producer, function()
        -- Of a model that contradicts itself, less may be known after a replacement.
        local known = v:known()
        if known then v:replace_with(known) end
      end)
    end
  end,

  examples = {
    { "a chain of constants", [[
        (float[2] x) => (float[2] y) <float[2] a = {1.0, 2.0}, float[2] b = {3.0, 4.0}> {
          c = Mul(a, b)
          d = Neg(c)
          y = Add(x, d)
        }]],
      "d = Constant <value = float[2] {-3.0, -8.0}> () y = Add(x, d)" },
    { "a known size", [[
        (float[B,3] x) => (float[B,3] y) <int64 one = {1}> {
          s = Shape(x)
          n = Gather(s, one)
          f = Cast <to = 1> (n)
          y = Mul(x, f)
        }]],
      "n = Constant <value = float {3.0}> () y = Mul(x, n)" },
    { "a size that has a name only", [[
        (float[B,3] x) => (float[B,3] y) <int64 zero = {0}> {
          s = Shape(x)
          n = Gather(s, zero)
          f = Cast <to = 1> (n)
          y = Mul(x, f)
        }]],
      "s = Shape(x) n = Gather(s, zero) f = Cast <to = 1> (n) y = Mul(x, f)" },
  },
}
