--- Functional attention as the engine's own.
return rule {
  doc = [[ aten.scaled_dot_product_attention(q, k, v, mask)   =>   ScaledDotProductAttention(q, k, v, mask) ]],
  phase = "target",

  match = function(op, q, k, v, mask, scale, causal, dropout, grouped, H, G, E)
    q:shape "_ H _ _"
    k:shape "_ G _ _"
    v:shape "_ G _ E"
    return op.aten.scaled_dot_product_attention{q, k, v, maybe(mask),
      scale = scale, is_causal = causal, dropout_p = dropout, enable_gqa = grouped}
  end,

  where = function(m)
    for _, size in ipairs{m.H, m.G, m.E} do need(type(size) == "number" and size > 0, "the heads are not known", m.q) end
    need(m.H == m.G or (m.grouped ~= 0 and m.H % m.G == 0), "keys have another number of heads", m.k)
  end,

  rewrite = function(op, m)
    return op.ruleengine.ScaledDotProductAttention{m.q, m.k, m.v, m.mask,
      num_heads = m.H, head_dim = m.E, scale = m.scale, is_causal = m.causal, dropout_p = m.dropout}
  end,

  examples = {
    { "grouped heads", [[
        (float[2,4,8,16] q, float[2,2,8,16] k, float[2,2,8,16] v) => (float[2,4,8,16] y) {
          y = aten.scaled_dot_product_attention <enable_gqa = 1, is_causal = 1> (q, k, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, is_causal = 1> (q, k, v)" },
    { "grouped heads that are not said to be", [[
        (float[2,4,8,16] q, float[2,1,8,16] k, float[2,1,8,16] v) => (float[2,4,8,16] y) {
          y = aten.scaled_dot_product_attention(q, k, v)
        }]],
      rejected = "keys have another number of heads" },
  },
}
