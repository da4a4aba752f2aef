--- See a transpose of the last two axes through a merge of the leading ones.
return rule {
  doc = [[
    split(transpose(merge(x)))   =>   transpose(x)

    merge makes [B*H,T,D] of [B,H,T,D], transpose swaps T and D, split gives [B,H,D,T]: element counts fix
    the merged axis, so only the shapes at both ends have to be known.]],
  phase = "canonical",

  match = function(op, x)
    x:shape "B H T D"
    local merged = op.Reshape{x, any, attrs = any}:shape "_ T D"
    local swapped = op.Transpose{merged, perm = {0, 2, 1}}
    return op.Reshape{swapped, any, attrs = any}:shape "B H D T"
  end,

  rewrite = function(op, m)
    return op.Transpose{m.x, perm = {0, 1, 3, 2}}
  end,

  examples = {
    { "heads", [[
        (float[2,4,8,16] x) => (float[2,4,16,8] y) <int64[3] m = {-1,8,16}, int64[4] s = {2,4,16,8}> {
          a = Reshape(x, m)
          b = Transpose <perm = [0,2,1]> (a)
          y = Reshape(b, s)
        }]],
      "y = Transpose <perm = [0,1,3,2]> (x)" },
    { "another axis is split off", [[
        (float[2,4,8,16] x) => (float[4,2,16,8] y) <int64[3] m = {-1,8,16}, int64[4] s = {4,2,16,8}> {
          a = Reshape(x, m)
          b = Transpose <perm = [0,2,1]> (a)
          y = Reshape(b, s)
        }]],
      "a = Reshape(x, m) b = Transpose <perm = [0,2,1]> (a) y = Reshape(b, s)" },
  },
}
