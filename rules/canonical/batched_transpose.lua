--- Transpose before the leading axes are merged, not after.
local merge = lib "merge"

return rule {
  doc = [[
    transpose(merge(x))   =>   merge(transpose(x))      merge: [B,H,T,D] -> [B*H,T,D]

    The merge moves towards the outputs, where the Reshape that splits the axes again takes it away
    (cancel_reshapes). Element counts fix the merged axis, so only the last two have to be known equal.]],
  phase = "canonical",

  match = function(op, x, X, T, D)
    x:shape "B H T D"
    local merged = context(op.Reshape{x, any, allowzero = any}:shape "X T D")
    return op.Transpose{merged, perm = {0, 2, 1}}
  end,

  where = function(m) merge.need_elements(m.x) end,

  rewrite = function(op, m)
    return op.Reshape(op.Transpose{m.x, perm = {0, 1, 3, 2}}, {m.X, m.D, m.T})
  end,

  examples = {
    { "heads", [[
        (float[2,4,8,16] x) => (float[2,4,16,8] y) <int64[3] m = {-1,8,16}, int64[4] s = {2,4,16,8}> {
          a = Reshape(x, m)
          b = Transpose <perm = [0,2,1]> (a)
          y = Reshape(b, s)
        }]],
      [[t = Transpose <perm = [0,1,3,2]> (x)
        m2 = Constant <value = int64[3] {8,16,8}> ()
        a = Reshape(t, m2)
        y = Reshape(a, s)]] },
    { "another pair of axes is merged", [[
        (float[2,4,8,16] x) => (float[2,16,32] y) <int64[3] m = {2,32,16}> {
          a = Reshape(x, m)
          y = Transpose <perm = [0,2,1]> (a)
        }]],
      "a = Reshape(x, m) y = Transpose <perm = [0,2,1]> (a)" },
  },
}
