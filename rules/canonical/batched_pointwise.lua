--- Work on each row or element before the leading axes are merged, not after.
local merge = lib "merge"

return rule {
  doc = [[
    f(merge(x))   =>   merge(f(x))      merge: [B,H,M,N] -> [B*H,M,N]

    f is Softmax on the last axis, or arithmetic with one number.]],
  phase = "canonical",

  match = function(op, x, c, sizes)
    x:shape "B H M N"
    local merged = context(op.Reshape{x, sizes, attrs = any}:shape "_ M N":as "merge")
    c:const()
    c:fits "1"
    return either(
      op.Softmax{merged, axis = -1}:as "softmax",
      either(op.Mul(merged, c), op.Div(merged, c), op.Add(merged, c)):as "f")
  end,

  where = function(m) merge.need_elements(m.x) end,

  rewrite = function(op, m)
    local y = m.softmax and op.Softmax{m.x, axis = -1} or m.f:with(m.x, m.c)
    return m.merge:with(y, m.sizes)
  end,

  examples = {
    { "softmax", [[
        (float[2,4,8,16] x) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Softmax <axis = -1> (a)
        }]],
      "a = Softmax <axis = -1> (x) y = Reshape(a, s)" },
    { "softmax over the last axis, counted from the front", [[
        (float[2,4,8,16] x) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Softmax <axis = 2> (a)
        }]],
      "a = Softmax <axis = -1> (x) y = Reshape(a, s)" },
    { "over another axis", [[
        (float[2,4,8,16] x) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Softmax <axis = 1> (a)
        }]],
      "a = Reshape(x, s) y = Softmax <axis = 1> (a)" },
  },
}
