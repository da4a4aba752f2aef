--- The kernel's attention as the engine's own.
return rule {
  doc = [[ AttentionForward(q, k, v, mask, sm_scale = s)   =>   ScaledDotProductAttention(q, k, v, mask, scale = s) ]],
  phase = "target",

  match = function(op, q, k, v, mask, scale, causal, H, E)
    q:shape "_ H _ _"
    k:shape "_ H _ _"
    v:shape "_ H _ E"
    return op.ruleengine.AttentionForward{q, k, v, maybe(mask), sm_scale = scale, is_causal = causal}
  end,

  rewrite = function(op, m)
    return op.ruleengine.ScaledDotProductAttention{m.q, m.k, m.v, m.mask,
      num_heads = m.H, head_dim = m.E, scale = m.scale, is_causal = m.causal}
  end,

  examples = {
    { "with a mask", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[2,1,1,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.AttentionForward <sm_scale = 0.125> (q, k, v, mask)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.125> (q, k, v, mask)" },
    { "heads that nobody knows", [[
        (float[2,H,8,16] q, float[2,H,8,16] k, float[2,H,8,16] v) => (float[2,H,8,16] y) {
          y = ruleengine.AttentionForward <sm_scale = 0.125> (q, k, v)
        }]],
      rejected = "num_heads needs dimension H, which is not a known number" },
  },
}
