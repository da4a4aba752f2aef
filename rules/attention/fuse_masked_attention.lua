--- Replace masked attention by one kernel call.
local attention = lib "attention"

return rule {
  doc = [[
    softmax(q k^T / c + mask) v   =>   AttentionForward(q, k, v, mask, sm_scale = 1 / c)

    The textbook form and nothing around it: one scale, one mask that is added, no dropout. With the option
    literal_divisor only that c is meant.]],
  phase = "attention",
  options = { literal_divisor = {"number"} },

  match = function(op, q, k, v, mask, scale, B, H, S, T)
    q:shape "B H S D"
    k:shape "B H T D"
    v:shape "B H T D"
    mask:type("float", "float16", "bfloat16", "double")
    local scores = op.MatMul(q, op.Transpose{k, perm = {0, 1, 3, 2}})
    scores = either(op.Div(scores, scale):as "divided", op.Mul(scores, scale))
    return op.MatMul(op.Softmax{op.Add(scores, mask), axis = -1}, v)
  end,

  where = function(m)
    m.factor = attention.need_float(attention.factor(m.scale, m.divided), m.q)
    attention.need_mask(m.mask, {m.T, m.S, m.H, m.B})
    local literal = m.options.literal_divisor
    if literal then
      need(m.divided and m.scale:scalar() == literal, "the divisor is another one", m.scale)
    end
  end,

  rewrite = function(op, m)
    return op.ruleengine.AttentionForward{m.q, m.k, m.v, m.mask, sm_scale = m.factor}
  end,

  examples = {
    { "divided by 8", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      "y = ruleengine.AttentionForward <sm_scale = 0.125> (q, k, v, mask)" },
    { "another divisor than the one meant", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {16.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      rejected = "the divisor is another one", options = { literal_divisor = 8 } },
  },
}
