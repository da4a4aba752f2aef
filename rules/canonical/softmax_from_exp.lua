--- Write a softmax that is spelled out as Softmax.

-- Whether these axes are the last one of x.
local function is_last(axes, x)
  axes = axes and axes:constant()
  return axes and #axes == 1 and (axes[1] == -1 or axes[1] + 1 == x:rank())
end

-- Whether the maximum of each row was subtracted from x: then no exponential overflows, and not all are 0.
local function is_centred(x)
  local node = x.producer
  local largest = node and node.op == "Sub" and node.inputs[2].producer
  local restored = largest and largest.op == "Unsqueeze"
  if restored and not is_last(largest.inputs[2], x) then return false end
  if restored then largest = largest.inputs[1].producer end
  if not largest or largest.op ~= "ReduceMax" or largest.inputs[1] ~= node.inputs[1] then return false end
  return is_last(largest.inputs[2], x) and (largest.attrs.keepdims == 0) == restored
end

return rule {
  doc = [[
    exp(x) / sum(exp(x)), exp(log_softmax(x)), exp(x - log(sum(exp(x))))   =>   Softmax(x)     over the last axis
    (exp(x) v) / sum(exp(x))                                               =>   Softmax(x) v]],
  phase = "canonical",

  match = function(op, x, v)
    local e = op.Exp(x)
    local sum = either(op.ReduceSum(e, {-1}):as "sum",
      op.Unsqueeze(op.ReduceSum{e, {-1}, keepdims = any}, any):shape "... 1":as "unsqueezed")
    local inverse = op.Reciprocal(sum)
    local product = op.MatMul(e, v)
    return either(
      op.Div(e, sum), op.Mul(e, inverse),
      op.Exp(op.LogSoftmax{x, axis = -1}),
      op.Exp(op.Sub(x, op.ReduceLogSumExp(x, {-1}):as "logarithm")),
      op.Div(product, sum), op.Mul(product, inverse))
  end,

  where = function(m)
    need(not m.unsqueezed or m.unsqueezed.outputs[1]:rank() == m.x:rank(), "the sum has other axes", m.x)
    need(not m.v or (m.v:rank() or 0) > 1, "the values are not a matrix", m.v)
    if (m.sum or m.unsqueezed) and not is_centred(m.x) then
      need(not m.x:type "float16", "the sum in float16 may overflow", m.x)
      assume("scores between -60 and 60", m.x)
    end
    -- Other numbers of a row with an infinite one are 0 there.
    if m.logarithm then assume("no score is NaN or infinite", m.x) end
  end,

  rewrite = function(op, m)
    local p = op.Softmax{m.x, axis = -1}
    return m.v and op.MatMul(p, m.v) or p
  end,

  examples = {
    { "over the last axis", [[
        (float[2,6,8] x) => (float[2,6,8] y) <int64[1] last = {2}> {
          e = Exp(x)
          s = ReduceSum(e, last)
          y = Div(e, s)
        }]],
      "y = Softmax <axis = -1> (x)", assumed = "scores between -60 and 60" },
    { "minus the maximum of each row", [[
        (float16[2,6,8] x) => (float16[2,6,8] y) <int64[1] last = {2}> {
          m = ReduceMax <keepdims = 0> (x, last)
          u = Unsqueeze(m, last)
          d = Sub(x, u)
          e = Exp(d)
          s = ReduceSum(e, last)
          y = Div(e, s)
        }]],
      "m = ReduceMax <keepdims = 0> (x, last) u = Unsqueeze(m, last) d = Sub(x, u) y = Softmax <axis = -1> (d)" },
    { "minus the maximum of each column", [[
        (float16[8,8] x) => (float16[8,8] y) <int64[1] last = {1}> {
          m = ReduceMax <keepdims = 0> (x, last)
          d = Sub(x, m)
          e = Exp(d)
          s = ReduceSum(e, last)
          y = Div(e, s)
        }]],
      rejected = "the sum in float16 may overflow" },
    { "float16", [[
        (float16[2,6,8] x) => (float16[2,6,8] y) <int64[1] last = {2}> {
          e = Exp(x)
          s = ReduceSum(e, last)
          y = Div(e, s)
        }]],
      rejected = "the sum in float16 may overflow" },
    { "its logarithm first", [[
        (float[2,6,8] x) => (float[2,6,8] y) {
          s = LogSoftmax <axis = -1> (x)
          y = Exp(s)
        }]],
      "y = Softmax <axis = -1> (x)" },
    { "minus the logarithm of the sum", [[
        (float[2,6,8] x) => (float[2,6,8] y) <int64[1] last = {-1}> {
          s = ReduceLogSumExp(x, last)
          d = Sub(x, s)
          y = Exp(d)
        }]],
      "y = Softmax <axis = -1> (x)", assumed = "no score is NaN or infinite" },
    { "divided after the product with the values", [[
        (float[2,6,8] x, float[2,8,5] v) => (float[2,6,5] y) <int64[1] last = {2}> {
          e = Exp(x)
          s = ReduceSum <keepdims = 0> (e, last)
          u = Unsqueeze(s, last)
          r = Reciprocal(u)
          o = MatMul(e, v)
          y = Mul(o, r)
        }]],
      "p = Softmax <axis = -1> (x) y = MatMul(p, v)", assumed = "scores between -60 and 60" },
    { "over another axis", [[
        (float[2,6,8] x) => (float[2,6,8] y) <int64[1] middle = {1}> {
          e = Exp(x)
          s = ReduceSum(e, middle)
          y = Div(e, s)
        }]],
      "e = Exp(x) s = ReduceSum(e, middle) y = Div(e, s)" },
  },
}
