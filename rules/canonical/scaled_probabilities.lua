--- Scale the result of attention instead of its probabilities.
return rule {
  doc = [[
    (c softmax(x)) v   =>   c (softmax(x) v)      c: a number for each row, head or batch

    For masks and gates of heads, and scales after the softmax.]],
  phase = "canonical",

  match = function(op, x, c, v)
    local function scaled(p)
      return either(function() c:fits "1"; return op.Mul(p, c) end, function() c:shape "... 1"; return op.Mul(p, c) end)
    end
    local plain = op.Softmax{x, axis = -1}:as "softmax"
    local chosen = either(op.Where(any, plain, 0), op.Where(any, 0, plain)):as "chosen"
    return op.MatMul(scaled(context(either(plain, chosen))), v):as "product"
  end,

  where = function(m)
    local rank = need(m.x:rank(), "the rank is unknown", m.x)
    need((m.c:rank() or rank + 1) <= rank and rank > 1 and m.v:rank() == rank, "the ranks differ", m.c)
  end,

  rewrite = function(op, m) return op.Mul(m.product:with((m.chosen or m.softmax).outputs[1], m.v), m.c) end,

  examples = {
    { "a number for each head", [[
        (float[2,4,8,6] x, float[4,1,1] c, float[2,4,6,16] v) => (float[2,4,8,16] y) {
          p = Softmax <axis = -1> (x)
          s = Mul(p, c)
          y = MatMul(s, v)
        }]],
      "p = Softmax <axis = -1> (x) o = MatMul(p, v) y = Mul(o, c)" },
    { "zeros where a mask hides", [[
        (float[2,4,8,6] x, bool[2,1,1,6] b, float c, float[2,4,6,16] v) => (float[2,4,8,16] y) <float zero = {0.0}> {
          p = Softmax <axis = -1> (x)
          w = Where(b, p, zero)
          s = Mul(w, c)
          y = MatMul(s, v)
        }]],
      "p = Softmax <axis = -1> (x) w = Where(b, p, zero) o = MatMul(w, v) y = Mul(o, c)" },
    { "a number for each key", [[
        (float[2,4,8,6] x, float[4,1,6] c, float[2,4,6,16] v) => (float[2,4,8,16] y) {
          p = Softmax <axis = -1> (x)
          s = Mul(p, c)
          y = MatMul(s, v)
        }]],
      "p = Softmax <axis = -1> (x) s = Mul(p, c) y = MatMul(s, v)" },
  },
}
