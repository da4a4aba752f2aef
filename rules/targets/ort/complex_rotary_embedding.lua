--- Rotary embeddings that are products of complex numbers as ONNX Runtime's own op.
local rotary = lib "rotary"

return rule {
  doc = [[
    pairs (a, b) of x as (a cos - b sin, b cos + a sin)   =>   RotaryEmbedding(x, places, rows of cos, rows of sin)]],
  phase = "target",

  match = function(op, x, cos, sin) return rotary.parts(op, x, cos, sin) end,

  where = function(m) m.pairs = rotary.need_pairs(m, m.x) end,

  rewrite = function(op, m)
    local cos, sin, behind = rotary.rows(op, m.x, m.cos, m.sin)
    return rotary.contrib(op, m.x, cos, sin, behind, m.pairs)
  end,

  examples = {
    { "neighbours, heads behind tokens", [[
        (float[2,4,3,8] x, float[4,1,4] c, float[4,1,4] s) => (float[2,4,3,8] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] behind = {-1}, int64[5] pairs = {2,4,3,4,2}, int64[4] whole = {2,4,3,8}> {
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
    { "halves", [[
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
    { "neighbours that come back as halves", [[
        (float[2,4,3,8] x, float[4,1,4] c, float[4,1,4] s) => (float[2,4,3,8] y)
        <int64 zero = {0}, int64 one = {1}, int64[5] pairs = {2,4,3,4,2}> {
          p = Reshape(x, pairs)
          a = Gather <axis = -1> (p, zero)
          b = Gather <axis = -1> (p, one)
          ac = Mul(a, c)
          bs = Mul(b, s)
          real = Sub(ac, bs)
          as = Mul(a, s)
          bc = Mul(b, c)
          imaginary = Add(as, bc)
          y = Concat <axis = -1> (real, imaginary)
        }]],
      rejected = "these are not the elements to turn" },
    { "the first pair and the second", [[
        (float[2,4,3,4] x, float[4,1,2] c, float[4,1,2] s) => (float[2,4,3,4] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] behind = {-1}, int64[5] pairs = {2,4,3,2,2}, int64[4] whole = {2,4,3,4}> {
          p = Reshape(x, pairs)
          a = Gather <axis = 3> (p, zero)
          b = Gather <axis = 3> (p, one)
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
      rejected = "these are not the elements to turn" },
    { "halves that come back as neighbours", [[
        (float[2,4,3,4] x, float[4,1,2] c, float[4,1,2] s) => (float[2,4,3,4] y)
        <int64[1] behind = {-1}, int64[2] halves = {2,2}, int64[4] whole = {2,4,3,4}> {
          a, b = Split <axis = -1> (x, halves)
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
      rejected = "these are not the elements to turn" },
    { "one number beside a half", [[
        (float[2,3,4,8] x, float[4,4] c, float[4,4] s) => (float[2,3,4,8] y)
        <int64[1] zero = {0}, int64[1] half = {4}, int64[1] next = {5}, int64[1] last = {3}> {
          a = Slice(x, zero, half, last)
          b = Slice(x, half, next, last)
          ac = Mul(a, c)
          bs = Mul(b, s)
          real = Sub(ac, bs)
          as = Mul(a, s)
          bc = Mul(b, c)
          imaginary = Add(as, bc)
          y = Concat <axis = -1> (real, imaginary)
        }]],
      rejected = "it is not one half that is turned" },
    { "angles for each head and token", [[
        (float[2,3,4,8] x, float[3,4,4] c, float[3,4,4] s) => (float[2,3,4,8] y) <int64[2] halves = {4,4}> {
          a, b = Split <axis = -1> (x, halves)
          ac = Mul(a, c)
          bs = Mul(b, s)
          real = Sub(ac, bs)
          as = Mul(a, s)
          bc = Mul(b, c)
          imaginary = Add(as, bc)
          y = Concat <axis = -1> (real, imaginary)
        }]],
      rejected = "the angles do not fit" },
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
      rejected = "no such type on every device" },
  },
}
