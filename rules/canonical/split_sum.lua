--- Add a mask of windows without cutting the batch into windows first.
return rule {
  doc = [[
    merge(split(x) + y)   =>   x + merge(expand(y))      split: [B*W,H,M,N] -> [B,W,H,M,N]

    y has a slice for each window, the same for each image; H, M and N may be 1 in y.]],
  phase = "canonical",

  match = function(op, x, y, B, W, X, K, P, Q)
    x:shape "X H M N"
    y:shape "_ W K P Q"
    local split = op.Reshape{x, any, allowzero = any}:shape "B W H M N"
    return op.Reshape{op.Add(split, y), any, allowzero = any}:shape "X H M N"
  end,

  rewrite = function(op, m)
    local wide = op.Expand(m.y, {m.B, m.W, m.K, m.P, m.Q})
    return op.Add(m.x, op.Reshape(wide, {m.X, m.K, m.P, m.Q}))
  end,

  examples = {
    { "two windows", [[
        (float[6,4,8,8] x, float[1,2,1,8,8] m) => (float[6,4,8,8] y)
        <int64[5] s = {3,2,4,8,8}, int64[4] t = {6,4,8,8}> {
          a = Reshape(x, s)
          b = Add(a, m)
          y = Reshape(b, t)
        }]],
      [[w = Constant <value = int64[5] {3,2,1,8,8}> ()
        e = Expand(m, w)
        r = Constant <value = int64[4] {6,1,8,8}> ()
        f = Reshape(e, r)
        y = Add(x, f)]] },
    { "merged into other axes", [[
        (float[6,4,8,8] x, float[1,2,1,8,8] m) => (float[4,6,8,8] y)
        <int64[5] s = {3,2,4,8,8}, int64[4] t = {4,6,8,8}> {
          a = Reshape(x, s)
          b = Add(a, m)
          y = Reshape(b, t)
        }]],
      "a = Reshape(x, s) b = Add(a, m) y = Reshape(b, t)" },
  },
}
