--- Add before the leading axes are merged, not after.
return rule {
  doc = [[
    merge(x) + merge(y)   =>   merge(x + y)      merge: [B,H,M,N] -> [B*H,M,N]

    y may be one row or one column where x has many.]],
  phase = "canonical",

  match = function(op, x, y, sizes)
    x:shape "B H M N"
    y:shape "B H P Q"
    return op.Add(
      op.Reshape{x, sizes, attrs = any}:shape "_ M N",
      op.Reshape{y, any, attrs = any}:shape "_ P Q"):shape "_ M N"
  end,

  rewrite = function(op, m)
    return op.Reshape(op.Add(m.x, m.y), m.sizes)
  end,

  examples = {
    { "a row for each head", [[
        (float[2,4,8,16] x, float[2,4,1,16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}, int64[3] t = {8,1,16}> {
          a = Reshape(x, s)
          c = Reshape(b, t)
          y = Add(a, c)
        }]],
      "a = Add(x, b) y = Reshape(a, s)" },
    { "a plain bias", [[
        (float[2,4,8,16] x, float[8,1,16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Add(a, b)
        }]],
      "a = Reshape(x, s) y = Add(a, b)" },
  },
}
