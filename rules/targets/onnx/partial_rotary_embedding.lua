--- Rotary embeddings of a part of each head as the standard's op.
local rotary = lib "rotary"

return rule {
  doc = [[
    concat(RotaryEmbedding(x[..., :r], cos, sin), x[..., r:])
      =>   RotaryEmbedding(x, cos, sin, rotary_embedding_dim = r) ]],
  phase = "target",

  match = function(op, x, cos, sin, pairs, N)
    return rotary.partial(op, x, function(a)
      return op.RotaryEmbedding{a, cos, sin, interleaved = pairs, num_heads = N}
    end)
  end,

  where = function(m) m.part, m.heads = rotary.need_part(m) end,

  rewrite = function(op, m)
    return rotary.built(op, m.x, m.apart, function(x)
      return op.RotaryEmbedding{x, m.cos, m.sin, interleaved = m.pairs, rotary_embedding_dim = m.part,
        num_heads = m.heads}
    end)
  end,

  examples = {
    { "slices", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,10] x, float[2,4,4] c, float[2,4,4] s) => (float[2,3,4,10] y)
        <int64[1] zero = {0}, int64[1] part = {8}, int64[1] far = {100}, int64[1] last = {3}> {
          a = Slice(x, zero, part, last)
          b = Slice(x, part, far, last)
          r = RotaryEmbedding <interleaved = 1> (a, c, s)
          y = Concat <axis = -1> (r, b)
        }]],
      [[y = RotaryEmbedding <interleaved = 1, num_heads = 3, rotary_embedding_dim = 8> (x, c, s)]] },
    { "a split", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,10] x, float[2,4,4] c, float[2,4,4] s) => (float[2,3,4,10] y) <int64[2] parts = {8,2}> {
          a, b = Split <axis = -1> (x, parts)
          r = RotaryEmbedding(a, c, s)
          y = Concat <axis = -1> (r, b)
        }]],
      [[y = RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 8> (x, c, s)]] },
    { "heads after tokens", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,4,3,10] x, float[2,4,4] c, float[2,4,4] s) => (float[2,4,3,10] y)
        <int64[2] parts = {8,2}, int64[3] flat = {0,0,24}, int64[4] apart = {0,0,3,8}> {
          a, b = Split <axis = -1> (x, parts)
          m = Reshape(a, flat)
          r = RotaryEmbedding <num_heads = 3>(m, c, s)
          t = Reshape(r, apart)
          y = Concat <axis = -1> (t, b)
        }]],
      [[flat2 = Constant <value = int64[3] {0,0,30}> ()
        m = Reshape(x, flat2)
        r = RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 8> (m, c, s)
        apart2 = Constant <value = int64[4] {0,0,3,10}> ()
        y = Reshape(r, apart2)]] },
    { "another part after it", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,3,4,10] x, float[2,4,4] c, float[2,4,4] s) => (float[2,3,4,10] y)
        <int64[1] zero = {0}, int64[1] two = {2}, int64[1] part = {8}, int64[1] last = {3}> {
          a = Slice(x, zero, part, last)
          b = Slice(x, zero, two, last)
          r = RotaryEmbedding(a, c, s)
          y = Concat <axis = -1> (r, b)
        }]],
      rejected = "these are not the elements to rotate" },
  },
}
