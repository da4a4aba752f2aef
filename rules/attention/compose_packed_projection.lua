--- Compose one projection that is split into queries, keys and values.
local linear = lib "linear"

return rule {
  doc = [[
    q, k, v = heads of Split(x W^T + b);  attend(q, k, v, ...)
      =>   q, k, v = MHAInProjection(x, x, x, W, b);  attend(q, k, v, ...)

    For three equal parts along the last axis, in this order. Removes nine nodes.]],
  phase = "attention",
  after = "compose_parallel_linears",

  match = function(op, x, w, b, H, D)
    w:const "O _"
    local q, k, v = op.Split{linear.any(op, x, w, b), maybe(any), axis = any, num_outputs = any, outputs = 3}
    local function heads(part)
      part:shape "B S F"
      return op.Transpose{op.Reshape{part, any, allowzero = any}, perm = {0, 2, 1, 3}}:shape "B H S D"
    end
    return op.ruleengine.ScaledDotProductAttention{heads(q), heads(k), heads(v), rest "more",
      num_heads = H, head_dim = D, attrs = any}:as "attend"
  end,

  where = function(m)
    need(not m.b or (m.b:rank() == 1 and m.b:dim(0) == m.O), "the bias is not one number for each output", m.b)
    need(m.O == 3 * m.F and m.F == m.H * m.D, "the parts do not have the width of all heads", m.w)
  end,

  rewrite = function(op, m)
    local q, k, v = op.ruleengine.MHAInProjection{m.x, m.x, m.x, m.w, m.b, num_heads = m.H, head_dim = m.D, outputs = 3}
    return m.attend:with(q, k, v, m.more)
  end,

  examples = {
    { "without a bias", [[
        (float[1,3,2] x) => (float[1,2,3,1] y)
        <float[2,6] w = {1,3,5,7,9,11,2,4,6,8,10,12}, int64[3] parts = {2,2,2}, int64[4] s = {0,0,2,1}> {
          p = MatMul(x, w)
          fq, fk, fv = Split <axis = -1> (p, parts)
          rq = Reshape(fq, s)
          q = Transpose <perm = [0,2,1,3]> (rq)
          rk = Reshape(fk, s)
          k = Transpose <perm = [0,2,1,3]> (rk)
          rv = Reshape(fv, s)
          v = Transpose <perm = [0,2,1,3]> (rv)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)
        }]],
      [[w2 = Constant <value = float[6,2] {1,2,3,4,5,6,7,8,9,10,11,12}> ()
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, x, x, w2)
        y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)]] },
    { "keys and queries swapped", [[
        (float[1,3,2] x) => (float[1,2,3,1] y)
        <float[2,6] w = {1,3,5,7,9,11,2,4,6,8,10,12}, int64[3] parts = {2,2,2}, int64[4] s = {0,0,2,1}> {
          p = MatMul(x, w)
          fq, fk, fv = Split <axis = -1> (p, parts)
          rq = Reshape(fq, s)
          q = Transpose <perm = [0,2,1,3]> (rq)
          rk = Reshape(fk, s)
          k = Transpose <perm = [0,2,1,3]> (rk)
          rv = Reshape(fv, s)
          v = Transpose <perm = [0,2,1,3]> (rv)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (k, q, v)
        }]],
      [[w2 = Constant <value = float[2,6] {1,3,5,7,9,11,2,4,6,8,10,12}> ()
        p = MatMul(x, w2)
        parts2 = Constant <value = int64[3] {2,2,2}> ()
        fq, fk, fv = Split <axis = -1> (p, parts2)
        s2 = Constant <value = int64[4] {0,0,2,1}> ()
        rq = Reshape(fq, s2)
        q = Transpose <perm = [0,2,1,3]> (rq)
        rk = Reshape(fk, s2)
        k = Transpose <perm = [0,2,1,3]> (rk)
        rv = Reshape(fv, s2)
        v = Transpose <perm = [0,2,1,3]> (rv)
        y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (k, q, v)]] },
  },
}
