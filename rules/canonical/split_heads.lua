--- Split heads before merging them into the batch.
return rule {
  doc = [[
    transpose([S,B,E] as [S,B*H,D])   =>   merge(transpose([S,B,E] as [S,B,H,D]))      merge: [B,H,S,D] -> [B*H,S,D]

    The form of sequence-first code. Keys may be transposed to [B*H,D,S] in one step. The merge moves towards the
    outputs.]],
  phase = "canonical",

  match = function(op, x, S, B, E, X, D)
    x:shape "S B E"
    local cut = op.Reshape{x, any, allowzero = any}:shape "S X D"
    return either(op.Transpose{cut, perm = {1, 0, 2}}, op.Transpose{cut, perm = {1, 2, 0}}:as "turned")
  end,

  where = function(m)
    need(m.E % m.D == 0 and m.E > m.D, "the last axis is not split into heads", m.x)
    need(m.S ~= 0 and m.B ~= 0, "the tensor has no elements", m.x)
  end,

  rewrite = function(op, m)
    local cut = op.Reshape(m.x, {m.S, m.B, m.E / m.D, m.D})
    if m.turned then return op.Reshape(op.Transpose{cut, perm = {1, 2, 3, 0}}, {m.X, m.D, m.S}) end
    return op.Reshape(op.Transpose{cut, perm = {1, 2, 0, 3}}, {m.X, m.S, m.D})
  end,

  examples = {
    { "four heads", [[
        (float[6,2,32] x) => (float[8,6,8] y) <int64[3] s = {6,8,8}> {
          r = Reshape(x, s)
          y = Transpose <perm = [1,0,2]> (r)
        }]],
      [[s4 = Constant <value = int64[4] {6,2,4,8}> ()
        r = Reshape(x, s4)
        t = Transpose <perm = [1,2,0,3]> (r)
        s3 = Constant <value = int64[3] {8,6,8}> ()
        y = Reshape(t, s3)]] },
    { "keys", [[
        (float[6,2,32] x) => (float[8,8,6] y) <int64[3] s = {6,8,8}> {
          r = Reshape(x, s)
          y = Transpose <perm = [1,2,0]> (r)
        }]],
      [[s4 = Constant <value = int64[4] {6,2,4,8}> ()
        r = Reshape(x, s4)
        t = Transpose <perm = [1,2,3,0]> (r)
        s3 = Constant <value = int64[3] {8,8,6}> ()
        y = Reshape(t, s3)]] },
    { "another axis is split", [[
        (float[6,2,32] x) => (float[4,6,16] y) <int64[3] s = {6,4,16}> {
          r = Reshape(x, s)
          n = Neg(r)
          y = Transpose <perm = [1,0,2]> (n)
        }]],
      "r = Reshape(x, s) n = Neg(r) y = Transpose <perm = [1,0,2]> (n)" },
  },
}
