--- Compose the three projections of one source.
local linear = lib "linear"

return rule {
  doc = [[
    attend(heads(x Wq^T + bq), heads(x Wk^T + bk), heads(x Wv^T + bv), ...)
      =>   q, k, v = MHAInProjection(x, x, x, [Wq; Wk; Wv], [bq; bk; bv]);  attend(q, k, v, ...)

    attend is the engine's own attention, or that of the standard or of PyTorch, which is not changed. All three
    projections have a bias, or none has one; their weights have the same shape. For Gemm, x may be
    flattened to rows.]],
  phase = "attention",

  match = function(op, x, wq, wk, wv, bq, bk, bv, H, D)
    x:shape "B S _"
    local rows = either(context(op.Reshape{x, any, allowzero = any}), x)
    local function heads(w, b)
      local split = op.Reshape{linear.any(op, rows, w, b), any, allowzero = any}
      return op.Transpose{split, perm = {0, 2, 1, 3}}:shape "B H S D"
    end
    local q, k, v = heads(wq, bq), heads(wk, bk), heads(wv, bv)
    return either(
      op.ruleengine.ScaledDotProductAttention{q, k, v, rest "more", num_heads = H, head_dim = D, attrs = any},
      op.Attention{q, k, v, rest "more", attrs = any},
      op.aten.scaled_dot_product_attention{q, k, v, rest "more", attrs = any}):as "attend"
  end,

  where = function(m)
    need(m.wq.shape == m.wk.shape and m.wk.shape == m.wv.shape, "the projections have different shapes", m.wk)
    need((m.bq ~= nil) == (m.bk ~= nil) and (m.bk ~= nil) == (m.bv ~= nil),
      "only some projections have a bias", m.attend)
    for _, b in ipairs{m.bq, m.bk, m.bv} do
      need(b:rank() == 1 and b:dim(0) == m.wq:dim(0), "a bias is not one number for each output", b)
    end
  end,

  rewrite = function(op, m)
    local w = op.Concat{m.wq, m.wk, m.wv, axis = 0}
    local b = m.bq and op.Concat{m.bq, m.bk, m.bv, axis = 0}
    local q, k, v = op.ruleengine.MHAInProjection{m.x, m.x, m.x, w, b, num_heads = m.H, head_dim = m.D, outputs = 3}
    return m.attend:with(q, k, v, m.more)
  end,

  examples = {
    { "with biases", [[
        (float[1,3,2] x) => (float[1,2,3,1] y)
        <float[2,2] wq = {1,2,3,4}, float[2,2] wk = {5,6,7,8}, float[2,2] wv = {9,10,11,12},
         float[2] bq = {1,2}, float[2] bk = {3,4}, float[2] bv = {5,6}, int64[4] s = {0,0,2,1}> {
          q1 = MatMul(x, wq)
          q2 = Add(q1, bq)
          q3 = Reshape(q2, s)
          q = Transpose <perm = [0,2,1,3]> (q3)
          k1 = MatMul(x, wk)
          k2 = Add(bk, k1)
          k3 = Reshape(k2, s)
          k = Transpose <perm = [0,2,1,3]> (k3)
          v1 = MatMul(x, wv)
          v2 = Add(v1, bv)
          v3 = Reshape(v2, s)
          v = Transpose <perm = [0,2,1,3]> (v3)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)
        }]],
      [[w = Constant <value = float[6,2] {1,3,2,4,5,7,6,8,9,11,10,12}> ()
        b = Constant <value = float[6] {1,2,3,4,5,6}> ()
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, x, x, w, b)
        y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)]] },
    { "Gemm on rows", [[
        (float[1,3,2] x) => (float[1,2,3,1] y)
        <float[2,2] wq = {1,2,3,4}, float[2,2] wk = {5,6,7,8}, float[2,2] wv = {9,10,11,12},
         float[2] bq = {1,2}, float[2] bk = {3,4}, float[2] bv = {5,6},
         int64[2] flat = {3,2}, int64[4] s = {1,3,2,1}> {
          r = Reshape(x, flat)
          q1 = Gemm <transB = 1> (r, wq, bq)
          q3 = Reshape(q1, s)
          q = Transpose <perm = [0,2,1,3]> (q3)
          k1 = Gemm <transB = 1> (r, wk, bk)
          k3 = Reshape(k1, s)
          k = Transpose <perm = [0,2,1,3]> (k3)
          v1 = Gemm <transB = 1> (r, wv, bv)
          v3 = Reshape(v1, s)
          v = Transpose <perm = [0,2,1,3]> (v3)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)
        }]],
      [[w = Constant <value = float[6,2] {1,2,3,4,5,6,7,8,9,10,11,12}> ()
        b = Constant <value = float[6] {1,2,3,4,5,6}> ()
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, x, x, w, b)
        y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)]] },
    { "windows that a Reshape made", [[
        (float[2,3,1,2] x) => (float[2,2,3,1] y)
        <float[2,2] wq = {1,2,3,4}, float[2,2] wk = {5,6,7,8}, float[2,2] wv = {9,10,11,12},
         int64[3] windows = {2,3,2}, int64[4] s = {0,0,2,1}> {
          r = Reshape(x, windows)
          q1 = MatMul(r, wq)
          q2 = Reshape(q1, s)
          q = Transpose <perm = [0,2,1,3]> (q2)
          k1 = MatMul(r, wk)
          k2 = Reshape(k1, s)
          k = Transpose <perm = [0,2,1,3]> (k2)
          v1 = MatMul(r, wv)
          v2 = Reshape(v1, s)
          v = Transpose <perm = [0,2,1,3]> (v2)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)
        }]],
      [[windows2 = Constant <value = int64[3] {2,3,2}> ()
        r = Reshape(x, windows2)
        w = Constant <value = float[6,2] {1,3,2,4,5,7,6,8,9,11,10,12}> ()
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (r, r, r, w)
        y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)]] },
    { "the attention of the standard", [[
        <ir_version: 11, opset_import: ["" : 23]>
        g (float[1,3,2] x, bool[3,3] mask) => (float[1,2,3,1] y)
        <float[2,2] wq = {1,2,3,4}, float[2,2] wk = {5,6,7,8}, float[2,2] wv = {9,10,11,12}, int64[4] s = {0,0,2,1}> {
          q1 = MatMul(x, wq)
          q2 = Reshape(q1, s)
          q = Transpose <perm = [0,2,1,3]> (q2)
          k1 = MatMul(x, wk)
          k2 = Reshape(k1, s)
          k = Transpose <perm = [0,2,1,3]> (k2)
          v1 = MatMul(x, wv)
          v2 = Reshape(v1, s)
          v = Transpose <perm = [0,2,1,3]> (v2)
          y = Attention <scale = 1.0, softcap = 2.0> (q, k, v, mask)
        }]],
      [[w = Constant <value = float[6,2] {1,3,2,4,5,7,6,8,9,11,10,12}> ()
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, x, x, w)
        y = Attention <scale = 1.0, softcap = 2.0> (q, k, v, mask)]] },
    { "one without a bias", [[
        (float[1,3,2] x) => (float[1,2,3,1] y)
        <float[2,2] wq = {1,2,3,4}, float[2,2] wk = {5,6,7,8}, float[2,2] wv = {9,10,11,12},
         float[2] bq = {1,2}, float[2] bv = {5,6}, int64[4] s = {0,0,2,1}> {
          q1 = MatMul(x, wq)
          q2 = Add(q1, bq)
          q3 = Reshape(q2, s)
          q = Transpose <perm = [0,2,1,3]> (q3)
          k1 = MatMul(x, wk)
          k3 = Reshape(k1, s)
          k = Transpose <perm = [0,2,1,3]> (k3)
          v1 = MatMul(x, wv)
          v2 = Add(v1, bv)
          v3 = Reshape(v2, s)
          v = Transpose <perm = [0,2,1,3]> (v3)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)
        }]],
      rejected = "only some projections have a bias" },
  },
}
