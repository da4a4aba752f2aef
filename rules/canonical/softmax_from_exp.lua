--- Say a softmax that is written out as what it is.
return rule {
  doc = [[
    exp(x) / sum(exp(x))   =>   Softmax(x)   over the last axis]],
  phase = "canonical",

  match = function(op, x, axes)
    local e = op.Exp(x)
    return op.Div(e, op.ReduceSum(e, axes):as "sum")
  end,

  where = function(m)
    local axes = need(m.axes:constant(), "the axes are not constant", m.axes)
    need(#axes == 1 and (axes[1] == -1 or axes[1] + 1 == m.x:rank()), "the sum is not over the last axis", m.axes)
  end,

  rewrite = function(op, m) return op.Softmax{m.x, axis = -1} end,

  examples = {
    { "over the last axis", [[
        (float[2,6,8] x) => (float[2,6,8] y) <int64[1] last = {2}> {
          e = Exp(x)
          s = ReduceSum(e, last)
          y = Div(e, s)
        }]],
      "y = Softmax <axis = -1> (x)" },
    { "over another axis", [[
        (float[2,6,8] x) => (float[2,6,8] y) <int64[1] middle = {1}> {
          e = Exp(x)
          s = ReduceSum(e, middle)
          y = Div(e, s)
        }]],
      rejected = "the sum is not over the last axis" },
  },
}
