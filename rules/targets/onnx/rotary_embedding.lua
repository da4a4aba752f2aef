--- Rotary embeddings as the standard writes them.
local rotary = lib "rotary"

return rule {
  doc = [[
    x cos + quarter(x) sin   =>   RotaryEmbedding(x, cos, sin)    from opset 23 on

    A pair (a, b) that is turned a quarter is (-b, a).]],
  phase = "target",

  match = function(op, x, cos, sin, cos_table, sin_table)
    return rotary.whole(op, x, {cos = cos, sin = sin, cos_table = cos_table, sin_table = sin_table})
  end,

  where = function(m) m.pairs = rotary.need_pairs(m, rotary.factor(m)) end,

  rewrite = function(op, m)
    local cos, sin, behind = rotary.angles(op, m)
    return rotary.standard(op, rotary.factor(m), cos, sin, behind, m.pairs)
  end,

  examples = {
    { "halves of heads, angles of each batch its own", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,8] x, float[2,4,4] f) => (float[2,3,4,8] y)
        <int64[1] zero = {0}, int64[1] half = {4}, int64[1] far = {100}, int64[1] last = {3}, int64[1] heads = {1}> {
          t = Concat <axis = -1> (f, f)
          c0 = Cos(t)
          s0 = Sin(t)
          c = Unsqueeze(c0, heads)
          s = Unsqueeze(s0, heads)
          a = Slice(x, zero, half, last)
          b = Slice(x, half, far, last)
          n = Neg(b)
          r = Concat <axis = -1> (n, a)
          xc = Mul(x, c)
          rs = Mul(r, s)
          y = Add(xc, rs)
        }]],
      [[c = Cos(f)
        s = Sin(f)
        y = RotaryEmbedding(x, c, s)]] },
    { "neighbours, heads behind tokens, scaled angles of no batch", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,4,3,8] x, float[4,4] f) => (float[2,4,3,8] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] far = {100}, int64[1] last = {3},
         int64[1] behind = {-1}, int64[4] places = {0,2,1,3}, int64[3] twos = {1,1,2}, int64[2] flat = {4,8},
         int64[4] whole = {2,4,3,8}, float third = {0.3},
         float[4,8] table = {1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8}> {
          c0 = Gather(table, places)
          c = Unsqueeze(c0, one)
          fd = Unsqueeze(f, behind)
          fw = Tile(fd, twos)
          t = Reshape(fw, flat)
          m = Mul(third, t)
          s0 = Sin(m)
          s = Unsqueeze(s0, one)
          a = Slice(x, zero, far, last, two)
          b = Slice(x, one, far, last, two)
          n = Neg(b)
          nd = Unsqueeze(n, behind)
          ad = Unsqueeze(a, behind)
          p = Concat <axis = -1> (nd, ad)
          r = Reshape(p, whole)
          xc = Mul(c, x)
          rs = Mul(r, s)
          y = Add(rs, xc)
        }]],
      [[c = Constant <value = float[2,4,4] {1,2,3,4,1,2,3,4,5,6,7,8,5,6,7,8,1,2,3,4,1,2,3,4,5,6,7,8,5,6,7,8}> ()
        first = Constant <value = int64[1] {0}> ()
        batches = Constant <value = int64[3] {2,1,1}> ()
        third2 = Constant <value = float {0.3}> ()
        m = Mul(f, third2)
        s0 = Sin(m)
        s1 = Unsqueeze(s0, first)
        s = Expand(s1, batches)
        merged = Constant <value = int64[3] {0,0,24}> ()
        x3 = Reshape(x, merged)
        y3 = RotaryEmbedding <interleaved = 1, num_heads = 3> (x3, c, s)
        apart = Constant <value = int64[4] {0,0,3,8}> ()
        y = Reshape(y3, apart)]] },
    { "angles that differ within pairs", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[1,3,2,4] x, float[1,2,2] f, float[1,2,2] g) => (float[1,3,2,4] y)
        <int64[1] one = {1}, int64[2] halves = {2,2}> {
          t = Concat <axis = -1> (f, g)
          c0 = Cos(t)
          s0 = Sin(t)
          c = Unsqueeze(c0, one)
          s = Unsqueeze(s0, one)
          a, b = Split <axis = -1> (x, halves)
          n = Neg(b)
          r = Concat <axis = -1> (n, a)
          xc = Mul(x, c)
          rs = Mul(r, s)
          y = Add(xc, rs)
        }]],
      [[t = Concat <axis = -1> (f, g)
        c0 = Cos(t)
        s0 = Sin(t)
        one2 = Constant <value = int64[1] {1}> ()
        c = Unsqueeze(c0, one2)
        s = Unsqueeze(s0, one2)
        halves2 = Constant <value = int64[2] {2,2}> ()
        a, b = Split <axis = -1> (x, halves2)
        n = Neg(b)
        r = Concat <axis = -1> (n, a)
        xc = Mul(x, c)
        rs = Mul(r, s)
        y = Add(xc, rs)]] },
    { "neighbours, angles as for halves", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,8] x, float[2,1,4,4] f) => (float[2,3,4,8] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] far = {100}, int64[1] last = {3},
         int64[1] behind = {-1}, int64[4] whole = {2,3,4,8}> {
          t = Concat <axis = -1> (f, f)
          c = Cos(t)
          s = Sin(t)
          a = Slice(x, zero, far, last, two)
          b = Slice(x, one, far, last, two)
          n = Neg(b)
          nd = Unsqueeze(n, behind)
          ad = Unsqueeze(a, behind)
          p = Concat <axis = -1> (nd, ad)
          r = Reshape(p, whole)
          xc = Mul(x, c)
          rs = Mul(r, s)
          y = Add(xc, rs)
        }]],
      rejected = "the angles of a pair differ" },
    { "halves, angles as for neighbours", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,8] x, float[2,1,4,4] f) => (float[2,3,4,8] y)
        <int64[2] halves = {4,4}, int64[1] behind = {-1}, int64[5] twos = {1,1,1,1,2}, int64[4] flat = {2,1,4,8}> {
          fd = Unsqueeze(f, behind)
          fw = Tile(fd, twos)
          t = Reshape(fw, flat)
          c = Cos(t)
          s = Sin(t)
          a, b = Split <axis = -1> (x, halves)
          n = Neg(b)
          r = Concat <axis = -1> (n, a)
          xc = Mul(x, c)
          rs = Mul(r, s)
          y = Add(xc, rs)
        }]],
      rejected = "the angles of a pair differ" },
    { "a table whose halves differ", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,4] x) => (float[2,3,4,4] y)
        <int64[2] halves = {2,2}, float[4,4] c = {1,2,1,2,3,4,3,4,5,6,5,6,7,8,7,8},
         float[4,4] s = {1,2,1,2,3,4,3,4,5,6,5,6,7,8,7,9}> {
          a, b = Split <axis = -1> (x, halves)
          n = Neg(b)
          r = Concat <axis = -1> (n, a)
          xc = Mul(x, c)
          rs = Mul(r, s)
          y = Add(xc, rs)
        }]],
      rejected = "the angles of a pair differ" },
    { "a turn the other way", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,8] x, float[2,4,4] f) => (float[2,3,4,8] y)
        <int64[1] zero = {0}, int64[1] half = {4}, int64[1] far = {100}, int64[1] last = {3}, int64[1] heads = {1}> {
          t = Concat <axis = -1> (f, f)
          c0 = Cos(t)
          s0 = Sin(t)
          c = Unsqueeze(c0, heads)
          s = Unsqueeze(s0, heads)
          a = Slice(x, zero, half, last)
          b = Slice(x, half, far, last)
          n = Neg(a)
          r = Concat <axis = -1> (n, b)
          xc = Mul(x, c)
          rs = Mul(r, s)
          y = Add(xc, rs)
        }]],
      rejected = "these are not the elements to turn" },
    { "in doubles", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (double[2,3,4,8] x, double[2,4,4] f) => (double[2,3,4,8] y)
        <int64[1] zero = {0}, int64[1] half = {4}, int64[1] far = {100}, int64[1] last = {3}, int64[1] heads = {1}> {
          t = Concat <axis = -1> (f, f)
          c0 = Cos(t)
          s0 = Sin(t)
          c = Unsqueeze(c0, heads)
          s = Unsqueeze(s0, heads)
          a = Slice(x, zero, half, last)
          b = Slice(x, half, far, last)
          n = Neg(b)
          r = Concat <axis = -1> (n, a)
          xc = Mul(x, c)
          rs = Mul(r, s)
          y = Add(xc, rs)
        }]],
      rejected = "no such type on every device" },
  },
}
