--- Attention in standard ops.
return rule {
  doc = [[
    ScaledDotProductAttention, AttentionForward, aten.scaled_dot_product_attention
      =>   softmax(cap(q k^T s) + causal + mask) v

    Key heads that serve several query heads are repeated. Where a mask may hide every key of a query, a guard gives
    zeros for it.]],
  phase = "target",

  match = function(op)
    local own = op.ruleengine
    return either(
      own.ScaledDotProductAttention{any, inputs = any, attrs = any},
      own.AttentionForward{any, inputs = any, attrs = any},
      op.aten.scaled_dot_product_attention{any, inputs = any, attrs = any}):as "call"
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "a mask of booleans", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[2,1,1,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v, mask)
        }]],
      [[kt = Transpose <perm = [0,1,3,2]> (k)
        c = Constant <value = float {0.25}> ()
        qs = Mul(q, c)
        s = MatMul(qs, kt)
        never = Constant <value = float {-inf}> ()
        w = Where(mask, s, never)
        p = Softmax <axis = 3> (w)
        n = IsNaN(p)
        zero = Constant <value = float {0.0}> ()
        g = Where(n, zero, p)
        y = MatMul(g, v)]] },
    { "of the standard already", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) { y = Attention(q, k, v) }]],
      "y = Attention(q, k, v)" },
  },
}
