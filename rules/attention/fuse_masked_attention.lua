--- Replace masked attention by one kernel call.
local attention = lib "attention"
local masking = lib "masking"

return rule {
  doc = [[
    softmax(q k^T / c + mask) v   =>   AttentionForward(q, k, v, mask, sm_scale = 1 / c)

    The textbook form only: one scale, one mask that is added, no dropout. With the option literal_divisor it matches
    only that c.]],
  phase = "attention",
  options = { literal_divisor = {"number"} },

  match = function(op, q, k, v, mask, scale, B, H, S, T)
    q:shape "B H S D"
    k:shape "B H T D"
    v:shape "B H T D"
    local scores = op.MatMul(q, op.Transpose{k, perm = {0, 1, 3, 2}})
    scores = either(op.Div(scores, scale):as "divided", op.Mul(scores, scale))
    return op.MatMul(op.Softmax{op.Add(scores, mask), axis = -1}, v)
  end,

  where = function(m)
    m.factor = attention.need_float(attention.factor(m.scale, m.divided), m.q)
    attention.need_halves(m.q, m.q.dtype, m.factor)
    masking.need_mask(m.mask, {m.T, m.S, m.H, m.B})
    local literal = m.options.literal_divisor
    if literal then
      need(m.divided and m.scale:scalar() == literal, "the divisor is not the one of the option", m.scale)
    end
  end,

  replace = function(op, q, k, v, mask, factor)
    return op.ruleengine.AttentionForward{q, k, v, mask, sm_scale = factor, guarded = 0}
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
      "y = ruleengine.AttentionForward <guarded = 0, sm_scale = 0.125> (q, k, v, mask)" },
    { "another divisor than that of the option", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {16.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      rejected = "the divisor is not the one of the option", options = { literal_divisor = 8 } },
    { "the divisor of the option", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      "y = ruleengine.AttentionForward <guarded = 0, sm_scale = 0.125> (q, k, v, mask)",
      options = { literal_divisor = 8 } },
    { "multiplied, the mask in front", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {0.5}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Mul(c, s)
          a = Add(mask, d)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      "y = ruleengine.AttentionForward <guarded = 0, sm_scale = 0.5> (q, k, v, mask)" },
    { "a mask for each head and row", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,4,8,8] mask)
          => (float[2,4,8,64] y) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      "y = ruleengine.AttentionForward <guarded = 0, sm_scale = 0.125> (q, k, v, mask)" },
    { "two layers share a mask, which is computed once", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {8.0}, float t = {1.0}, float low = {-10000.0}> {
          one = Sub(t, mask)
          m = Mul(one, low)
          kt1 = Transpose <perm = [0,1,3,2]> (k)
          s1 = MatMul(q, kt1)
          d1 = Div(s1, c)
          a1 = Add(d1, m)
          p1 = Softmax <axis = -1> (a1)
          h = MatMul(p1, v)
          kt2 = Transpose <perm = [0,1,3,2]> (k)
          s2 = MatMul(h, kt2)
          d2 = Div(s2, c)
          a2 = Add(d2, m)
          p2 = Softmax <axis = -1> (a2)
          y = MatMul(p2, v)
        }]],
      [[
          one = Sub(t, mask)
          m = Mul(one, low)
          h = ruleengine.AttentionForward <guarded = 0, sm_scale = 0.125> (q, k, v, m)
          y = ruleengine.AttentionForward <guarded = 0, sm_scale = 0.125> (h, k, v, m)]] },
    { "what is around it stays", [[
        (float[2,8,256] x, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,8,256] y) <float c = {8.0}, int64[4] heads = {2,8,4,64}, int64[3] flat = {2,8,256}> {
          w = Reshape(x, heads)
          q = Transpose <perm = [0,2,1,3]> (w)
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          o = MatMul(p, v)
          z = Transpose <perm = [0,2,1,3]> (o)
          y = Reshape(z, flat)
        }]],
      [[
          w = Reshape(x, heads)
          q = Transpose <perm = [0,2,1,3]> (w)
          o = ruleengine.AttentionForward <guarded = 0, sm_scale = 0.125> (q, k, v, mask)
          z = Transpose <perm = [0,2,1,3]> (o)
          y = Reshape(z, flat)]] },
    { "the mask before the scale", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Add(s, mask)
          a = Div(d, c)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      [[
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Add(s, mask)
          a = Div(d, c)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)]] },
    { "a softmax over another axis", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = 2> (a)
          y = MatMul(p, v)
        }]],
      [[
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = 2> (a)
          y = MatMul(p, v)]] },
    { "a mask for heads multiplies the probabilities", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask, float[1,4,1,1] h)
          => (float[2,4,8,64] y) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          r = Mul(p, h)
          y = MatMul(r, v)
        }]],
      [[
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          r = Mul(p, h)
          y = MatMul(r, v)]] },
    { "relative positions are added too", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask, float[1,4,8,8] positions)
          => (float[2,4,8,64] y) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          r = Add(s, positions)
          d = Div(r, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      [[
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          r = Add(s, positions)
          d = Div(r, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)]] },
    { "a dropout in between", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          r = Dropout(p)
          y = MatMul(r, v)
        }]],
      [[
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          r = Dropout(p)
          y = MatMul(r, v)]] },
    { "the probabilities are an output", [[
        (float[2,4,8,64] q, float[2,4,8,64] k, float[2,4,8,64] v, float[2,1,1,8] mask)
          => (float[2,4,8,64] y, float[2,4,8,8] p) <float c = {8.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      [[
          kt = Transpose <perm = [0,1,3,2]> (k)
          s = MatMul(q, kt)
          d = Div(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)]] },
  },
}
