--- Attention in standard ops.
return rule {
  doc = [[
    ScaledDotProductAttention, AttentionForward, aten.scaled_dot_product_attention
      =>   softmax(cap(q k^T s) + causal + mask) v

    The queries of all heads that share a key head are rows of one product, so no key is repeated. Where a mask may hide
    every key of a query, a guard gives zeros for it, unless guarded = 0.]],
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
    { "two key heads for four, without a guard", [[
        (float[2,4,8,16] q, float[2,2,8,16] k, float[2,2,8,16] v, float[8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, guarded = 0> (q, k, v, mask)
        }]],
      [[c = Constant <value = float {0.25}> ()
        qs = Mul(q, c)
        together = Constant <value = int64[4] {0,2,16,0}> ()
        apart = Constant <value = int64[4] {0,4,8,0}> ()
        qg = Reshape(qs, together)
        kt = Transpose <perm = [0,1,3,2]> (k)
        s = MatMul(qg, kt)
        sh = Reshape(s, apart)
        m = Add(sh, mask)
        p = Softmax <axis = 3> (m)
        pg = Reshape(p, together)
        yg = MatMul(pg, v)
        y = Reshape(yg, apart)]] },
    { "one key head for all, and perhaps more queries than keys: then the scores are scaled", [[
        (float[B,4,S,16] q, float[B,1,L,16] k, float[B,1,L,8] v) => (float[B,4,S,8] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8> (q, k, v)
        }]],
      [[axis = Constant <value = int64[1] {2}> ()
        four = Constant <value = int64[1] {4}> ()
        first = Constant <value = int64[2] {0,1}> ()
        heads = Constant <value = int64[2] {0,4}> ()
        last = Constant <value = int64[1] {0}> ()
        shape = Shape(q)
        rows = Gather <axis = 0> (shape, axis)
        all = Mul(rows, four)
        together = Concat <axis = 0> (first, all, last)
        qg = Reshape(q, together)
        kt = Transpose <perm = [0,1,3,2]> (k)
        s = MatMul(qg, kt)
        apart = Concat <axis = 0> (heads, rows, last)
        sh = Reshape(s, apart)
        c = Constant <value = float {0.25}> ()
        ss = Mul(sh, c)
        p = Softmax <axis = 3> (ss)
        pg = Reshape(p, together)
        yg = MatMul(pg, v)
        y = Reshape(yg, apart)]] },
    { "of the standard already", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) { y = Attention(q, k, v) }]],
      "y = Attention(q, k, v)" },
  },
}
