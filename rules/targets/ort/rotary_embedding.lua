--- Rotary embeddings as an op of ONNX Runtime.
local heads = lib "heads"
local rotary = lib "rotary"

return rule {
  doc = [[
    x cos + quarter(x) sin                                 =>   RotaryEmbedding(x, places, rows of cos, rows of sin)
    pairs (a, b) of x as (a cos - b sin, b cos + a sin)    =>   RotaryEmbedding(x, places, rows of cos, rows of sin)

    quarter turns each pair (a, b) to (-b, a). A place is the row of a token.]],
  phase = "target",

  match = function(op, x, cos, sin, cos_table, sin_table)
    return rotary.turned(op, x, {cos = cos, sin = sin, cos_table = cos_table, sin_table = sin_table})
  end,

  where = function(m) m.pairs = rotary.need_pairs(m) end,

  rewrite = function(op, m)
    local x, cos, sin, behind = rotary.operands(op, m)
    local places = {0}
    if cos:rank() == 3 and cos:dim(0) ~= 1 then
      local lengths = op.Shape{cos, start = 0, ["end"] = 2}
      places = op.Reshape{op.Range(0, op.ReduceProd{lengths, keepdims = 0}, 1), lengths, allowzero = 1}
      local more
      if not heads.positive(cos:dim(0)) then
        more = op.Concat{{0, 0}, op.Shape{cos, start = 1, ["end"] = 2}, {0}, axis = 0}
      end
      local function rows(angles)
        local all = op.Reshape(angles, {-1, x:dim(-1) / 2})
        -- The op requires as many rows as tokens, even without a batch.
        return more and op.Pad(all, more) or all
      end
      cos, sin = rows(cos), rows(sin)
    elseif cos:rank() == 3 then
      cos, sin = op.Squeeze(cos, {0}), op.Squeeze(sin, {0})
    end
    return rotary.built(op, x, behind, function(rows)
      return op["com.microsoft"].RotaryEmbedding{rows, places, cos, sin, interleaved = m.pairs and 1 or 0}
    end)
  end,

  examples = {
    { "halves of heads, angles of each batch its own", [[
        (float[2,3,4,8] x, float[2,4,4] f) => (float[2,3,4,8] y)
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
      [[c0 = Cos(f)
        s0 = Sin(f)
        rows = Constant <value = int64[2] {-1,4}> ()
        c = Reshape(c0, rows)
        s = Reshape(s0, rows)
        places2 = Constant <value = int64[2,4] {0,1,2,3,4,5,6,7}> ()
        y = com.microsoft.RotaryEmbedding(x, places2, c, s)]] },
    { "the same of a batch that may be empty", [[
        (float[B,3,4,8] x, float[B,4,4] f) => (float[B,3,4,8] y)
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
      [[c0 = Cos(f)
        s0 = Sin(f)
        lengths = Shape <start = 0, end = 2> (c0)
        tokens = ReduceProd <keepdims = 0> (lengths)
        first = Constant <value = int64 {0}> ()
        step = Constant <value = int64 {1}> ()
        all = Range(first, tokens, step)
        places = Reshape <allowzero = 1> (all, lengths)
        rows = Constant <value = int64[2] {-1,4}> ()
        more = Constant <value = int64[4] {0,0,4,0}> ()
        c1 = Reshape(c0, rows)
        c = Pad(c1, more)
        s1 = Reshape(s0, rows)
        s = Pad(s1, more)
        y = com.microsoft.RotaryEmbedding(x, places, c, s)]] },
    { "products of complex numbers, heads after tokens", [[
        (float[2,4,3,8] x, float[4,1,4] c, float[4,1,4] s) => (float[2,4,3,8] y)
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
        c0 = Squeeze(c, middle)
        s0 = Squeeze(s, middle)
        from = Constant <value = int64[1] {0}> ()
        y3 = com.microsoft.RotaryEmbedding <interleaved = 1> (x3, from, c0, s0)
        apart = Constant <value = int64[4] {0,0,3,8}> ()
        y = Reshape(y3, apart)]] },
    { "products of halves", [[
        (float[2,3,4,8] x, float[4,4] c, float[4,4] s) => (float[2,3,4,8] y) <int64[2] halves = {4,4}> {
          a, b = Split <axis = -1> (x, halves)
          ac = Mul(a, c)
          bs = Mul(b, s)
          real = Sub(ac, bs)
          as = Mul(a, s)
          bc = Mul(b, c)
          imaginary = Add(as, bc)
          y = Concat <axis = -1> (real, imaginary)
        }]],
      [[from = Constant <value = int64[1] {0}> ()
        y = com.microsoft.RotaryEmbedding(x, from, c, s)]] },
    { "in doubles", [[
        (double[2,3,4,8] x, double[4,4] c, double[4,4] s) => (double[2,3,4,8] y) <int64[2] halves = {4,4}> {
          a, b = Split <axis = -1> (x, halves)
          ac = Mul(a, c)
          bs = Mul(b, s)
          real = Sub(ac, bs)
          as = Mul(a, s)
          bc = Mul(b, c)
          imaginary = Add(as, bc)
          y = Concat <axis = -1> (real, imaginary)
        }]],
      rejected = "does not have this type on every device" },
  },
}
