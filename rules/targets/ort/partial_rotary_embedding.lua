--- Rotary embeddings of a part of each head as an op of ONNX Runtime.
local rotary = lib "rotary"

return rule {
  doc = [[
    concat(RotaryEmbedding(x[..., :r], places, cos, sin), x[..., r:])
      =>   RotaryEmbedding(x, places, cos, sin, rotary_embedding_dim = r) ]],
  phase = "target",

  match = function(op, x, places, cos, sin, pairs, N)
    return rotary.partial(op, x, function(a)
      return op["com.microsoft"].RotaryEmbedding{a, places, cos, sin, interleaved = pairs, num_heads = N}
    end)
  end,

  where = function(m) m.part, m.heads = rotary.need_part(m) end,

  rewrite = function(op, m)
    return rotary.built(op, m.x, m.apart, function(x)
      return op["com.microsoft"].RotaryEmbedding{x, m.places, m.cos, m.sin, interleaved = m.pairs,
        rotary_embedding_dim = m.part, num_heads = m.heads}
    end)
  end,

  examples = {
    { "slices", [[
        (float[2,3,4,10] x, float[4,4] c, float[4,4] s) => (float[2,3,4,10] y)
        <int64[1] p = {0}, int64[1] zero = {0}, int64[1] part = {8}, int64[1] far = {100}, int64[1] last = {3}> {
          a = Slice(x, zero, part, last)
          b = Slice(x, part, far, last)
          r = com.microsoft.RotaryEmbedding <interleaved = 1> (a, p, c, s)
          y = Concat <axis = -1> (r, b)
        }]],
      [[p2 = Constant <value = int64[1] {0}> ()
        y = com.microsoft.RotaryEmbedding <interleaved = 1, num_heads = 3, rotary_embedding_dim = 8> (x, p2, c, s)]] },
    { "heads after tokens", [[
        (float[2,4,3,10] x, float[4,4] c, float[4,4] s) => (float[2,4,3,10] y)
        <int64[1] p = {0}, int64[2] parts = {8,2}, int64[3] flat = {0,0,24}, int64[4] apart = {0,0,3,8}> {
          a, b = Split <axis = -1> (x, parts)
          m = Reshape(a, flat)
          r = com.microsoft.RotaryEmbedding(m, p, c, s)
          t = Reshape(r, apart)
          y = Concat <axis = -1> (t, b)
        }]],
      [[p2 = Constant <value = int64[1] {0}> ()
        flat2 = Constant <value = int64[3] {0,0,30}> ()
        m = Reshape(x, flat2)
        r = com.microsoft.RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 8> (m, p2, c, s)
        apart2 = Constant <value = int64[4] {0,0,3,10}> ()
        y = Reshape(r, apart2)]] },
    { "another part after it", [[
        (float[2,3,4,10] x, float[4,4] c, float[4,4] s) => (float[2,3,4,10] y)
        <int64[1] p = {0}, int64[1] zero = {0}, int64[1] two = {2}, int64[1] part = {8}, int64[1] last = {3}> {
          a = Slice(x, zero, part, last)
          b = Slice(x, zero, two, last)
          r = com.microsoft.RotaryEmbedding(a, p, c, s)
          y = Concat <axis = -1> (r, b)
        }]],
      rejected = "these are not the elements to rotate" },
  },
}
