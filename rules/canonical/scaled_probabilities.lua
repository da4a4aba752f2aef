--- Scale what a softmax weighed, not its probabilities.
return rule {
  doc = [[
    (c softmax(x)) v   =>   c (softmax(x) v)      c: a number for each row, head or batch

    Masks and gates of heads, and scales that stand after the softmax.]],
  phase = "canonical",

  match = function(op, x, c, v)
    local function scaled(p)
      return either(function() c:fits "1"; return op.Mul(p, c) end, function() c:shape "... 1"; return op.Mul(p, c) end)
    end
    return op.MatMul(scaled(op.Softmax{x, axis = -1}), v):as "product"
  end,

  where = function(m)
    local rank = need(m.x:rank(), "the rank is unknown", m.x)
    need((m.c:rank() or rank + 1) <= rank and rank > 1 and m.v:rank() == rank, "the ranks differ", m.c)
  end,

  rewrite = function(op, m) return op.Mul(m.product:with(op.Softmax{m.x, axis = -1}, m.v), m.c) end,

  examples = {
    { "a number for each head", [[
        (float[2,4,8,6] x, float[4,1,1] c, float[2,4,6,16] v) => (float[2,4,8,16] y) {
          p = Softmax <axis = -1> (x)
          s = Mul(p, c)
          y = MatMul(s, v)
        }]],
      "p = Softmax <axis = -1> (x) o = MatMul(p, v) y = Mul(o, c)" },
    { "a number for each key", [[
        (float[2,4,8,6] x, float[4,1,6] c, float[2,4,6,16] v) => (float[2,4,8,16] y) {
          p = Softmax <axis = -1> (x)
          s = Mul(p, c)
          y = MatMul(s, v)
        }]],
      "p = Softmax <axis = -1> (x) s = Mul(p, c) y = MatMul(s, v)" },
  },
}
