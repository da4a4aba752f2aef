--- Write functional attention as the engine's own op.
return rule {
  doc = [[
    Attention(q, k, v, mask)                           =>   ScaledDotProductAttention(q, k, v, mask)
    aten.scaled_dot_product_attention(q, k, v, mask)   =>   ScaledDotProductAttention(q, k, v, mask)

    On [B,H,S,D] with as many key heads as query heads. An explicit scale stays explicit, also 1.0; the default of both
    is 1/sqrt(D). Nodes with caches, soft caps or grouped heads stay unchanged.]],
  phase = "conversion",

  match = function(op, q, k, v, mask, scale, causal, dropout, H, E)
    q:shape "B H S D"
    k:shape "B H T D"
    v:shape "B H T E"
    mask:fits "B H S T"
    return either(
      op.Attention{q, k, v, maybe(mask), scale = scale, is_causal = causal}:as "standard",
      op.aten.scaled_dot_product_attention{q, k, v, maybe(mask), scale = scale, is_causal = causal,
        dropout_p = dropout})
  end,

  where = function(m)
    -- From opset 24 on the op hides the keys that a shorter mask does not cover.
    need(not (m.standard and m.mask) or m.mask:dim(-1) == m.k:dim(2), "the mask does not cover each key", m.mask)
  end,

  rewrite = function(op, m)
    return op.ruleengine.ScaledDotProductAttention{m.q, m.k, m.v, m.mask,
      num_heads = m.H, head_dim = m.E, scale = m.scale, is_causal = m.causal, dropout_p = m.dropout}
  end,

  examples = {
    { "an explicit scale", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = Attention <scale = 1.0> (q, k, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v)" },
    { "a mask of one key", [[
        <ir_version: 11, opset_import: ["" : 24]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[8,1] mask) => (float[2,4,8,16] y) {
          y = Attention (q, k, v, mask)
        }]],
      rejected = "the mask does not cover each key" },
    { "grouped heads", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[2,4,8,16] q, float[2,2,8,16] k, float[2,2,8,16] v) => (float[2,4,8,16] y) {
          y = Attention (q, k, v)
        }]],
      "y = Attention (q, k, v)" },
  },
}
