--- The packed projection of queries, keys and values in standard ops.
local heads = lib "heads"
local linear = lib "linear"

return rule {
  doc = [[
    MHAInProjection(x, x, x, w, b)   =>   heads of Split(x w^T + b)
    MHAInProjection(x, y, z, w, b)   =>   heads of x, y and z times their third of w each]],
  phase = "target",

  match = function(op, query, key, value, w, b, H, D)
    return op.ruleengine.MHAInProjection{query, key, value, w, maybe(b), num_heads = H, head_dim = D, outputs = 3}
  end,

  where = function(m)
    need(m.H and m.H > 0 and m.D and m.D > 0, "num_heads and head_dim are not two positive numbers", m.query)
  end,

  rewrite = function(op, m)
    local function split(x) return heads.split(op, x, m.H, m.D) end
    local size = m.H * m.D
    if m.query == m.key and m.key == m.value then
      local q, k, v = op.Split{linear.apply(op, m.query, m.w, m.b), {size, size, size}, axis = -1, outputs = 3}
      return split(q), split(k), split(v)
    end
    local function part(x, i)
      local function third(t) return t and op.Slice(t, {i * size}, {(i + 1) * size}, {0}) end
      return split(linear.apply(op, x, third(m.w), third(m.b)))
    end
    return part(m.query, 0), part(m.key, 1), part(m.value, 2)
  end,

  examples = {
    { "one source", [[
        (float[1,3,2] x) => (float[1,2,3,1] q, float[1,2,3,1] k, float[1,2,3,1] v)
        <float[6,2] w = {1,2,3,4,5,6,7,8,9,10,11,12}> {
          q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, x, x, w)
        }]],
      [[wt = Constant <value = float[2,6] {1,3,5,7,9,11,2,4,6,8,10,12}> ()
        y = MatMul(x, wt)
        parts = Constant <value = int64[3] {2,2,2}> ()
        fq, fk, fv = Split <axis = -1> (y, parts)
        s = Constant <value = int64[4] {0,0,2,1}> ()
        hq = Reshape(fq, s)
        q = Transpose <perm = [0,2,1,3]> (hq)
        hk = Reshape(fk, s)
        k = Transpose <perm = [0,2,1,3]> (hk)
        hv = Reshape(fv, s)
        v = Transpose <perm = [0,2,1,3]> (hv)]] },
    { "two sources, one part that nobody reads", [[
        (float[1,3,2] x, float[1,4,2] z) => (float[1,2,3,1] q, float[1,2,4,1] k)
        <float[6,2] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[6] b = {1,2,3,4,5,6}> {
          q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, z, z, w, b)
        }]],
      [[wq = Constant <value = float[2,2] {1,3,2,4}> ()
        pq = MatMul(x, wq)
        bq = Constant <value = float[2] {1,2}> ()
        fq = Add(pq, bq)
        s = Constant <value = int64[4] {0,0,2,1}> ()
        hq = Reshape(fq, s)
        q = Transpose <perm = [0,2,1,3]> (hq)
        wk = Constant <value = float[2,2] {5,7,6,8}> ()
        pk = MatMul(z, wk)
        bk = Constant <value = float[2] {3,4}> ()
        fk = Add(pk, bk)
        hk = Reshape(fk, s)
        k = Transpose <perm = [0,2,1,3]> (hk)]] },
  },
}
