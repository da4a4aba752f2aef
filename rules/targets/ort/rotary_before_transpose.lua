--- Apply rotary embeddings while heads come after tokens, as ONNX Runtime's attention expects.
return rule {
  doc = [[
    RotaryEmbedding(transpose(x), places, cos, sin)   =>   transpose(RotaryEmbedding(merge(x), places, cos, sin))

    x is [B,S,H,D]. The Transpose moves towards another one that cancels it.]],
  phase = "target",

  match = function(op, x, places, cos, sin, pairs, part, H)
    x:shape "_ _ H D"
    return op["com.microsoft"].RotaryEmbedding{op.Transpose{x, perm = {0, 2, 1, 3}}, places, cos, sin,
      interleaved = pairs, rotary_embedding_dim = part, num_heads = any}
  end,

  where = function(m)
    need(type(m.H) == "number" and type(m.D) == "number" and m.H * m.D > 0, "the size of the heads is unknown", m.x)
    need(m.cos:dim(-1) == (m.part == 0 and m.D or m.part) / 2, "the angles are not one for each pair", m.cos)
  end,

  rewrite = function(op, m)
    local y = op["com.microsoft"].RotaryEmbedding{op.Reshape(m.x, {0, 0, m.H * m.D}), m.places, m.cos, m.sin,
      interleaved = m.pairs, rotary_embedding_dim = m.part, num_heads = m.H}
    return op.Transpose{op.Reshape(y, {0, 0, m.H, m.D}), perm = {0, 2, 1, 3}}
  end,

  examples = {
    { "whole heads", [[
        (float[2,4,3,8] x, float[4,4] c, float[4,4] s) => (float[2,3,4,8] y) <int64[1] p = {0}> {
          t = Transpose <perm = [0,2,1,3]> (x)
          y = com.microsoft.RotaryEmbedding <interleaved = 1> (t, p, c, s)
        }]],
      [[flat = Constant <value = int64[3] {0,0,24}> ()
        m = Reshape(x, flat)
        p2 = Constant <value = int64[1] {0}> ()
        r = com.microsoft.RotaryEmbedding <interleaved = 1, num_heads = 3> (m, p2, c, s)
        apart = Constant <value = int64[4] {0,0,3,8}> ()
        h = Reshape(r, apart)
        y = Transpose <perm = [0,2,1,3]> (h)]] },
    { "a part of each", [[
        (float[2,4,3,8] x, float[9,3] c, float[9,3] s, int64[2,4] p) => (float[2,3,4,8] y) {
          t = Transpose <perm = [0,2,1,3]> (x)
          y = com.microsoft.RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 6> (t, p, c, s)
        }]],
      [[flat = Constant <value = int64[3] {0,0,24}> ()
        m = Reshape(x, flat)
        r = com.microsoft.RotaryEmbedding <num_heads = 3, rotary_embedding_dim = 6> (m, p, c, s)
        apart = Constant <value = int64[4] {0,0,3,8}> ()
        h = Reshape(r, apart)
        y = Transpose <perm = [0,2,1,3]> (h)]] },
    { "batches last", [[
        (float[4,2,3,8] x, float[4,4] c, float[4,4] s) => (float[2,3,4,8] y) <int64[1] p = {0}> {
          t = Transpose <perm = [1,2,0,3]> (x)
          y = com.microsoft.RotaryEmbedding(t, p, c, s)
        }]],
      [[t = Transpose <perm = [1,2,0,3]> (x)
        p2 = Constant <value = int64[1] {0}> ()
        y = com.microsoft.RotaryEmbedding(t, p2, c, s)]] },
    { "an unknown number of heads", [[
        (float[2,4,H,8] x, float[4,4] c, float[4,4] s) => (float[2,H,4,8] y) <int64[1] p = {0}> {
          t = Transpose <perm = [0,2,1,3]> (x)
          y = com.microsoft.RotaryEmbedding(t, p, c, s)
        }]],
      rejected = "the size of the heads is unknown" },
    { "more angles than heads have pairs", [[
        (float[2,4,3,8] x, float[4,12] c, float[4,12] s) => (float[2,3,4,8] y) <int64[1] p = {0}> {
          t = Transpose <perm = [0,2,1,3]> (x)
          y = com.microsoft.RotaryEmbedding(t, p, c, s)
        }]],
      rejected = "the angles are not one for each pair" },
  },
}
