--- Multiply with a softmax from the left instead of with its transpose from the right.
return rule {
  doc = [[
    a softmax(s)^T   =>   (softmax(s) a^T)^T

    Attention of images, whose values are [channels, places].]],
  phase = "canonical",

  match = function(op, a, s)
    local p = op.Softmax{s, axis = -1}
    return op.MatMul(a, either(op.Transpose{p, perm = {0, 2, 1}}, op.Transpose{p, perm = {0, 1, 3, 2}}):as "turn")
  end,

  where = function(m)
    need(m.a:rank() == m.s:rank(), "the ranks differ", m.a)
  end,

  rewrite = function(op, m)
    local perm = m.turn.attrs.perm
    return op.Transpose{op.MatMul(op.Softmax{m.s, axis = -1}, op.Transpose{m.a, perm = perm}), perm = perm}
  end,

  examples = {
    { "channels by places", [[
        (float[2,16,8] v, float[2,6,8] s) => (float[2,16,6] y) {
          p = Softmax <axis = -1> (s)
          t = Transpose <perm = [0,2,1]> (p)
          y = MatMul(v, t)
        }]],
      [[p = Softmax <axis = -1> (s)
        vt = Transpose <perm = [0,2,1]> (v)
        o = MatMul(p, vt)
        y = Transpose <perm = [0,2,1]> (o)]] },
    { "softmax over the other axis", [[
        (float[2,16,8] v, float[2,6,8] s) => (float[2,16,6] y) {
          p = Softmax <axis = 1> (s)
          t = Transpose <perm = [0,2,1]> (p)
          y = MatMul(v, t)
        }]],
      "p = Softmax <axis = 1> (s) t = Transpose <perm = [0,2,1]> (p) y = MatMul(v, t)" },
  },
}
