--- Add what is there for each part of an axis without cutting the axis into parts first.
return rule {
  doc = [[
    join(split(x) + y)   =>   x + join(expand(y))

    Any split, any number of sums, of values that are there once for several elements: position biases of images, [rows,
    columns] of queries by those of keys. With values as large as x it would be as well the other way round.]],
  phase = "canonical",
  after = "split_sum",

  match = function(op, x, y)
    local split = op.Reshape{x, any, attrs = any}:as "split"
    local sum = op.Add(many(function(s) return op.Add(s, y):as "inner" end, split), any "last"):as "outer"
    return op.Reshape{sum, any, attrs = any}:as "join"
  end,

  where = function(m)
    local joined, shape = m.join.outputs[1], m.split.outputs[1].shape
    need(m.x.shape and m.x.shape == joined.shape, "the axes end elsewhere", joined)
    need(m.outer.outputs[1].shape == shape, "the sum is larger", m.outer)
    for _, node in ipairs(m.inner) do need(node.outputs[1].shape == shape, "the sum is larger", node) end
    need(m.last.shape ~= shape, "it is as large as x", m.last)
    for _, y in ipairs(m.y) do need(y.shape ~= shape, "it is as large as x", y) end
  end,

  rewrite = function(op, m)
    local parts, sizes = {}, {}
    for i = 1, m.split.outputs[1]:rank() do parts[i] = m.split.outputs[1]:dim(i - 1) end
    for i = 1, m.x:rank() do sizes[i] = m.x:dim(i - 1) end
    local sum = m.x
    local function add(y) sum = op.Add(sum, op.Reshape(op.Expand(y, parts), sizes)) end
    for _, y in ipairs(m.y) do add(y) end
    add(m.last)
    return sum
  end,

  examples = {
    { "rows and columns of keys", [[
        (float[3,20,6] x, float[3,4,5,2,1] r, float[3,4,5,1,3] c) => (float[3,20,6] y)
        <int64[5] s = {3,4,5,2,3}, int64[3] t = {3,20,6}> {
          a = Reshape(x, s)
          b = Add(a, r)
          d = Add(b, c)
          y = Reshape(d, t)
        }]],
      [[w = Constant <value = int64[5] {3,4,5,2,3}> ()
        j = Constant <value = int64[3] {3,20,6}> ()
        re = Expand(r, w)
        rj = Reshape(re, j)
        b = Add(x, rj)
        ce = Expand(c, w)
        cj = Reshape(ce, j)
        y = Add(b, cj)]] },
    { "a residual", [[
        (float[2,4,8,16] x, float[8,8,16] r) => (float[2,4,8,16] y)
        <int64[3] s = {8,8,16}, int64[4] t = {2,4,8,16}> {
          a = Reshape(x, s)
          b = Add(a, r)
          y = Reshape(b, t)
        }]],
      rejected = "it is as large as x" },
    { "joined into other axes", [[
        (float[3,20,6] x, float[3,4,5,2,1] r) => (float[20,3,6] y)
        <int64[5] s = {3,4,5,2,3}, int64[3] t = {20,3,6}> {
          a = Reshape(x, s)
          b = Add(a, r)
          y = Reshape(b, t)
        }]],
      rejected = "the axes end elsewhere" },
  },
}
