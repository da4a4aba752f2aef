--- Work on each row or element before the leading axes are merged, not after.
local merge = lib "merge"

return rule {
  doc = [[
    f(merge(x))   =>   merge(f(x))      merge: [B,H,M,N] -> [B*H,M,N]

    f is Softmax or the largest on the last axis, or arithmetic with one number.]],
  phase = "canonical",

  match = function(op, x, c, axes, sizes, X, M)
    x:shape "B H M N"
    local merged = context(op.Reshape{x, sizes, allowzero = any}:shape "X M N":as "merge")
    return either(
      op.Softmax{merged, axis = -1}:as "softmax",
      op.ReduceMax(merged, axes):as "largest",
      function()
        c:fits "1"
        return either(op.Mul(merged, c), op.Div(merged, c), op.Add(merged, c)):as "f"
      end)
  end,

  where = function(m)
    merge.need_elements(m.x)
    if m.axes then
      local axes = need(m.axes:constant(), "the axes are not constant", m.axes)
      need(#axes == 1 and (axes[1] == -1 or axes[1] == 2), "it is not the last axis", m.axes)
    end
  end,

  rewrite = function(op, m)
    if m.largest then return op.Reshape(op.ReduceMax(m.x, {-1}), {m.X, m.M, 1}) end
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
    { "the largest of each row", [[
        (float[2,4,8,16] x) => (float[8,8,1] y) <int64[3] s = {8,8,16}, int64[1] last = {2}> {
          a = Reshape(x, s)
          y = ReduceMax(a, last)
        }]],
      [[end = Constant <value = int64[1] {-1}> ()
        a = ReduceMax(x, end)
        t = Constant <value = int64[3] {8,8,1}> ()
        y = Reshape(a, t)]] },
    { "over another axis", [[
        (float[2,4,8,16] x) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Softmax <axis = 1> (a)
        }]],
      "a = Reshape(x, s) y = Softmax <axis = 1> (a)" },
  },
}
