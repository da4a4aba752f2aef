--- Multiply with all keys at once if their scores are concatenated.
local merge = lib "merge"

return rule {
  doc = [[
    [q a, q b]   =>   q [a b]      on the last axis; neither a nor b is a weight

    For example keys of a cache and new ones, or keys of all tokens and of a window.]],
  phase = "canonical",

  match = function(op, q, a, b)
    a:shape "... _ _"
    return op.Concat{op.MatMul(q, a), op.MatMul(q, b), axis = -1}
  end,

  where = function(m)
    need(not m.a:const() and not m.b:const(), "the keys are constant, so this is a layer", m.a)
    need(m.a:rank() == m.b:rank(), "the ranks differ", m.b)
    m.wide = merge.common(m.a, m.b)
  end,

  rewrite = function(op, m)
    return op.MatMul(m.q, op.Concat{merge.widened(op, m.a, m.wide), merge.widened(op, m.b, m.wide), axis = -1})
  end,

  examples = {
    { "keys of all windows, and of each", [[
        (float[2,4,3,8,16] q, float[2,4,1,16,5] a, float[2,4,3,16,8] b) => (float[2,4,3,8,13] y) {
          s = MatMul(q, a)
          t = MatMul(q, b)
          y = Concat <axis = -1> (s, t)
        }]],
      [[n = Constant <value = int64[5] {2,4,3,1,1}> ()
        w = Expand(a, n)
        k = Concat <axis = -1> (w, b)
        y = MatMul(q, k)]] },
    { "two layers", [[
        (float[2,2] q) => (float[2,3] y) <float[2,1] a = {1,2}, float[2,2] b = {3,4,5,6}> {
          s = MatMul(q, a)
          t = MatMul(q, b)
          y = Concat <axis = -1> (s, t)
        }]],
      rejected = "the keys are constant, so this is a layer" },
  },
}
