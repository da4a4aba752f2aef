--- Add and choose before the leading axes are merged, not after.
local merge = lib "merge"

return rule {
  doc = [[
    merge(x) + y   =>   merge(x + split(y))      merge: [B,H,M,N] -> [B*H,M,N]

    The same for a difference, and for a choice by y between merge(x) and a number.
    y may be one row or one column where x has many, and one matrix for all, which needs no split. Where y was merged too, its split takes that away.]],
  phase = "canonical",

  match = function(op, x, y, c, sizes, B, H, X, M, N, P, Q)
    x:shape "B H M N"
    y:shape "... P Q"
    c:fits "1"
    local merged = context(op.Reshape{x, sizes, allowzero = any}:shape "X M N":as "merge")
    return either(
      op.Add(merged, y),
      op.Sub(merged, y):as "difference",
      op.Where(y, merged, c):as "shown",
      op.Where(y, c, merged):as "hidden"):shape "X M _":as "made"
  end,

  where = function(m)
    merge.need_elements(m.x)
    m.whole = m.y:rank() == 2 or m.y:dim(0) == 1
    need(m.whole or m.y:dim(0) == m.X, "it is not there for each batch", m.y)
  end,

  rewrite = function(op, m)
    local split = m.whole and m.y or op.Reshape(m.y, {m.B, m.H, m.P, m.Q})
    local made = m.difference and op.Sub(m.x, split)
      or m.shown and op.Where(split, m.x, m.c)
      or m.hidden and op.Where(split, m.c, m.x)
      or op.Add(m.x, split)
    -- Where N and Q are equal by names that do not say so, it is the sum that knows its last axis.
    return m.merge:with(made, m.made.outputs[1]:dim(2) == m.N and m.sizes or {m.X, m.M, -1})
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
    { "one matrix for all", [[
        (float[2,4,8,16] x, float[1,8,16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Add(a, b)
        }]],
      "a = Add(x, b) y = Reshape(a, s)" },
    { "a choice by column", [[
        (float[2,4,8,16] x, bool[8,1,16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}, float c = {-1.0}> {
          a = Reshape(x, s)
          y = Where(b, c, a)
        }]],
      [[t = Constant <value = int64[4] {2,4,1,16}> ()
        d = Reshape(b, t)
        a = Where(d, c, x)
        y = Reshape(a, s)]] },
    { "a bias of the last axis", [[
        (float[2,4,8,16] x, float[16] b) => (float[8,8,16] y) <int64[3] s = {8,8,16}> {
          a = Reshape(x, s)
          y = Add(a, b)
        }]],
      "a = Reshape(x, s) y = Add(a, b)" },
  },
}
