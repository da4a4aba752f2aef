--- Keep sizes that do not change instead of computing them.
return rule {
  doc = [[
    Reshape(x, computed)   =>   Reshape(x, {0, 0, 4, 16})
    Expand(x, computed)    =>   Expand(x, {1, 4, 1})

    Where each size of the result is a number or that of the same axis of x. Other sizes are read from graph inputs.]],

  match = function(op, x, sizes)
    return either(op.Reshape{x, sizes, allowzero = any}:as "reshaped", op.Expand(x, sizes):as "expanded")
  end,

  where = function(m)
    need(not m.sizes:const(), "the sizes are constant", m.sizes)
    m.y = (m.reshaped or m.expanded).outputs[1]
    need(m.y:rank() and m.x:rank(), "a shape is unknown", m.y)
  end,

  rewrite = function(op, m)
    local sizes, added = {}, m.y:rank() - m.x:rank()
    for i = 0, m.y:rank() - 1 do
      sizes[i + 1] = m.y:dim(i)
      if m.expanded and i >= added and m.x:dim(i - added) == m.y:dim(i) then sizes[i + 1] = 1 end
    end
    return m.reshaped and op.Reshape(m.x, sizes) or op.Expand(m.x, sizes)
  end,

  examples = {
    { "heads", [[
        (float[B,S,64] x) => (float[B,S,4,16] y) <int64 zero = {0}, int64 one = {1}, int64[1] axis = {0},
          int64[1] heads = {4}, int64[1] size = {16}> {
          s = Shape(x)
          b = Gather(s, zero)
          n = Gather(s, one)
          b1 = Unsqueeze(b, axis)
          n1 = Unsqueeze(n, axis)
          t = Concat <axis = 0> (b1, n1, heads, size)
          y = Reshape(x, t)
        }]],
      "t = Constant <value = int64[4] {0,0,4,16}> () y = Reshape(x, t)" },
    { "a column for each row", [[
        (float[B,1,3] x) => (float[B,4,3] y) <int64[1] four = {4}, int64[1] three = {3}> {
          b = Shape <start = 0, end = 1> (x)
          t = Concat <axis = 0> (b, four, three)
          y = Expand(x, t)
        }]],
      "t = Constant <value = int64[3] {1,4,1}> () y = Expand(x, t)" },
    { "constant", [[
        (float[B,64] x) => (float[B,4,16] y) <int64[3] t = {0,4,16}> { y = Reshape(x, t) }]],
      rejected = "the sizes are constant" },
  },
}
