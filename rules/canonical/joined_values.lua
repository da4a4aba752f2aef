--- Multiply with all values at once if the results are added.
local merge = lib "merge"

return rule {
  doc = [[
    p1 v + p2 w   =>   p [v; w]      where p1 and p2 are the parts of p on its last axis]],
  phase = "canonical",

  match = function(op, p, v, w, to, axes, last, cut)
    p:shape "... _ T"
    local left, right = op.Split{p, maybe(any), axis = cut, num_outputs = any, outputs = 2}
    local head = either(left, op.Slice{p, 0, any, axes, inputs = any}:as "head")
    local tail = either(right, op.Slice{p, any, to, last, inputs = any}:as "tail")
    return op.Add(op.MatMul(head, v), op.MatMul(tail, w))
  end,

  where = function(m)
    local rank = m.p:rank()
    need(m.v:rank() == rank and m.w:rank() == rank, "the ranks differ", m.v)
    need(m.v:dim(-1) == m.w:dim(-1), "the values differ in width", m.w)
    if m.cut then
      need(not m.head and not m.tail, "the parts are of different kinds", m.p)
      need(m.cut == -1 or m.cut == rank - 1, "the parts are not on the last axis", m.p)
    else
      for _, axes in ipairs{m.axes, m.last} do
        local axis = need(axes:scalar(), "the axis is not constant", axes)
        need(axis == -1 or axis == rank - 1, "the parts are not on the last axis", axes)
      end
      for _, part in ipairs{m.head, m.tail} do
        local steps = part.inputs[5]
        need(not steps or steps:scalar() == 1, "the slice skips keys", part)
      end
      need((m.to:scalar() or 0) > 2 ^ 31 - 2, "the second part ends before the last key", m.to)
      need(m.v:dim(-2) == m.head.outputs[1]:dim(-1), "the first part and its values have different sizes", m.v)
    end
    m.wide = merge.common(m.v, m.w)
  end,

  rewrite = function(op, m)
    local all = op.Concat{merge.widened(op, m.v, m.wide), merge.widened(op, m.w, m.wide), axis = -2}
    need(all:dim(-2) == m.T, "the parts overlap or leave a gap", m.p)
    return op.MatMul(m.p, all)
  end,

  examples = {
    { "two slices", [[
        (float[2,4,8,7] p, float[2,4,5,16] v, float[2,4,2,16] w) => (float[2,4,8,16] y)
        <int64[1] zero = {0}, int64[1] five = {5}, int64[1] end = {9223372036854775807}, int64[1] last = {3},
         int64[1] one = {1}, int64[1] step = {1}> {
          a = Slice(p, zero, five, last, one)
          b = Slice(p, five, end, last, step)
          o = MatMul(a, v)
          u = MatMul(b, w)
          y = Add(o, u)
        }]],
      "all = Concat <axis = -2> (v, w) y = MatMul(p, all)" },
    { "a split", [[
        (float[2,4,8,7] p, float[2,4,5,16] v, float[1,4,2,16] w) => (float[2,4,8,16] y) <int64[2] sizes = {5,2}> {
          a, b = Split <axis = 3> (p, sizes)
          o = MatMul(a, v)
          u = MatMul(b, w)
          y = Add(o, u)
        }]],
      [[n = Constant <value = int64[4] {2,4,1,1}> ()
        e = Expand(w, n)
        all = Concat <axis = -2> (v, e)
        y = MatMul(p, all)]] },
    { "slices that overlap", [[
        (float[2,4,8,7] p, float[2,4,5,16] v, float[2,4,3,16] w) => (float[2,4,8,16] y)
        <int64[1] zero = {0}, int64[1] five = {5}, int64[1] four = {4}, int64[1] end = {9223372036854775807},
         int64[1] last = {3}> {
          a = Slice(p, zero, five, last)
          b = Slice(p, four, end, last)
          o = MatMul(a, v)
          u = MatMul(b, w)
          y = Add(o, u)
        }]],
      rejected = "the parts overlap or leave a gap" },
  },
}
