--- Rotary embeddings as the standard's op.
local rotary = lib "rotary"

return rule {
  doc = [[
    x cos + quarter(x) sin                                 =>   RotaryEmbedding(x, cos, sin)
    pairs (a, b) of x as (a cos - b sin, b cos + a sin)    =>   RotaryEmbedding(x, cos, sin)

    Needs opset 23. quarter turns each pair (a, b) to (-b, a).]],
  phase = "target",

  match = function(op, x, cos, sin, cos_table, sin_table)
    return rotary.turned(op, x, {cos = cos, sin = sin, cos_table = cos_table, sin_table = sin_table})
  end,

  where = function(m) m.pairs = rotary.need_pairs(m) end,

  rewrite = function(op, m)
    local x, cos, sin, behind = rotary.operands(op, m)
    local function wide(c)
      if c:rank() == 2 then c = op.Unsqueeze(c, {0}) end
      local batch = x:dim(0)
      if c:dim(0) == batch then return c end
      if type(batch) == "number" or not batch.unknown then return op.Expand(c, {batch, 1, 1}) end
      return op.Expand(c, op.Concat{op.Shape{x, start = 0, ["end"] = 1}, {1, 1}, axis = 0})
    end
    return rotary.built(op, x, behind, function(rows, heads)
      return op.RotaryEmbedding{rows, wide(cos), wide(sin), interleaved = m.pairs and 1 or 0, num_heads = heads}
    end)
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
    { "neighbours, heads after tokens, scaled angles of no batch", [[
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
    { "products of complex numbers, heads after tokens", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,4,3,8] x, float[4,1,4] c, float[4,1,4] s) => (float[2,4,3,8] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] behind = {-1}, int64[5] pairs = {2,4,3,4,2},
          int64[4] whole = {2,4,3,8}> {
          p = Reshape(x, pairs)
          a = Gather <axis = -1> (p, zero)
          b = Gather <axis = -1> (p, one)
          ac = Mul(a, c)
          bs = Mul(b, s)
          real = Sub(ac, bs)
          as = Mul(a, s)
          bc = Mul(b, c)
          imaginary = Add(as, bc)
          rd = Unsqueeze(real, behind)
          id = Unsqueeze(imaginary, behind)
          q = Concat <axis = -1> (rd, id)
          y = Reshape(q, whole)
        }]],
      [[merged = Constant <value = int64[3] {0,0,24}> ()
        x3 = Reshape(x, merged)
        middle = Constant <value = int64[1] {1}> ()
        first = Constant <value = int64[1] {0}> ()
        batches = Constant <value = int64[3] {2,1,1}> ()
        c0 = Squeeze(c, middle)
        c1 = Unsqueeze(c0, first)
        c2 = Expand(c1, batches)
        s0 = Squeeze(s, middle)
        s1 = Unsqueeze(s0, first)
        s2 = Expand(s1, batches)
        y3 = RotaryEmbedding <interleaved = 1, num_heads = 3> (x3, c2, s2)
        apart = Constant <value = int64[4] {0,0,3,8}> ()
        y = Reshape(y3, apart)]] },
    { "products of halves", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,8] x, float[4,4] c, float[4,4] s) => (float[2,3,4,8] y) <int64[2] halves = {4,4}> {
          a, b = Split <axis = -1> (x, halves)
          ac = Mul(a, c)
          bs = Mul(b, s)
          real = Sub(ac, bs)
          as = Mul(a, s)
          bc = Mul(b, c)
          imaginary = Add(as, bc)
          y = Concat <axis = -1> (real, imaginary)
        }]],
      [[first = Constant <value = int64[1] {0}> ()
        batches = Constant <value = int64[3] {2,1,1}> ()
        c1 = Unsqueeze(c, first)
        c2 = Expand(c1, batches)
        s1 = Unsqueeze(s, first)
        s2 = Expand(s1, batches)
        y = RotaryEmbedding(x, c2, s2)]] },
    { "angles of two sections", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,8] x, float[2,4,1] ca, float[2,4,3] cb, float[2,4,1] sa, float[2,4,3] sb) => (float[2,3,4,8] y)
        <int64[1] zero = {0}, int64[1] half = {4}, int64[1] far = {100}, int64[1] last = {3}, int64[1] heads = {1}> {
          c0 = Concat <axis = 2> (ca, cb, ca, cb)
          s0 = Concat <axis = 2> (sa, sb, sa, sb)
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
      [[c = Concat <axis = -1> (ca, cb)
        s = Concat <axis = -1> (sa, sb)
        y = RotaryEmbedding(x, c, s)]] },
    { "angles in front of tokens, then behind them", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,8] x, float[2,4,4] f) => (float[2,3,4,8] y)
        <int64[1] zero = {0}, int64[1] half = {4}, int64[1] far = {100}, int64[1] last = {3}, int64[1] heads = {1}> {
          u = Concat <axis = 1> (f, f)
          t = Transpose <perm = [0,2,1]> (u)
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
      [[t = Transpose <perm = [0,2,1]> (f)
        c = Cos(t)
        s = Sin(t)
        y = RotaryEmbedding(x, c, s)]] },
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
  },
}
