--- Add before the leading axes are merged, not after.
local merge = lib "merge"

return rule {
  doc = [[
    merge(x) + y   =>   merge(x + split(y))      merge: [B,H,M,N] -> [B*H,M,N]

    y may be one row or one column where x has many. Where y was merged too, its split takes that away.]],
  phase = "canonical",

  match = function(op, x, y, sizes, B, H, P, Q)
    x:shape "B H M N"
    y:shape "X P Q"
    return op.Add(context(op.Reshape{x, sizes, attrs = any}:shape "X M N":as "merge"), y):shape "X M N"
  end,

  where = function(m) merge.need_elements(m.x) end,

  rewrite = function(op, m)
    local split = op.Reshape(m.y, {m.B, m.H, m.P, m.Q})
    return m.merge:with(op.Add(m.x, split), m.sizes)
  end,

  examples = {
    { "a row for each head", [[
        (float[2,4,8,16] x, float[8,1,16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Add(a, b)
        }]],
      [[t = Constant <value = int64[4] {2,4,1,16}> ()
        c = Reshape(b, t)
        a = Add(x, c)
        y = Reshape(a, s)]] },
    { "a bias of the last axis", [[
        (float[2,4,8,16] x, float[16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Add(a, b)
        }]],
      "a = Reshape(x, s) y = Add(a, b)" },
  },
}
