--- Multiply before the leading axes are merged, not after.
local merge = lib "merge"

return rule {
  doc = [[
    merge(a) merge(b)   =>   merge(a b)      merge: [B,H,M,K] -> [B*H,M,K]

    One Reshape less; the one that is left moves towards the outputs. The axis that is summed over may have two names.]],
  phase = "canonical",

  match = function(op, a, b, X, M, N)
    a:shape "B H M K"
    b:shape "B H L N"
    return op.MatMul(
      context(op.Reshape{a, any, allowzero = any}:shape "X M K"),
      context(op.Reshape{b, any, allowzero = any}:shape "X L N"))
  end,

  where = function(m)
    merge.need_elements(m.a)
    merge.need_elements(m.b)
  end,

  rewrite = function(op, m)
    return op.Reshape(op.MatMul(m.a, m.b), {m.X, m.M, m.N})
  end,

  examples = {
    { "heads", [[
        (float[2,4,8,16] a, float[2,4,16,8] b) => (float[8,8,8] y) <int64[3] s = {8,8,16}, int64[3] t = {8,16,8}> {
          c = Reshape(a, s)
          d = Reshape(b, t)
          y = MatMul(c, d)
        }]],
      "m = MatMul(a, b) s2 = Constant <value = int64[3] {8,8,8}> () y = Reshape(m, s2)" },
    { "batches that are split differently", [[
        (float[2,4,8,16] a, float[4,2,16,8] b) => (float[8,8,8] y) <int64[3] s = {8,8,16}, int64[3] t = {8,16,8}> {
          c = Reshape(a, s)
          d = Reshape(b, t)
          y = MatMul(c, d)
        }]],
      "c = Reshape(a, s) d = Reshape(b, t) y = MatMul(c, d)" },
  },
}
