--- The packed projection of queries, keys and values in standard ops.
return rule {
  doc = [[
    MHAInProjection(x, x, x, w, b)   =>   heads of Split(x w^T + b)
    MHAInProjection(x, y, z, w, b)   =>   heads of x, y and z times their third of w each]],
  phase = "target",

  match = function(op, x)
    local q, k, v = op.ruleengine.MHAInProjection{x, inputs = any, attrs = any, outputs = 3}
    return q:as "call", k, v
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "one source, one part that nobody reads", [[
        (float[1,3,2] x) => (float[1,2,3,1] q, float[1,2,3,1] k)
        <float[6,2] w = {1,2,3,4,5,6,7,8,9,10,11,12}> {
          q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, x, x, w)
        }]],
      [[wt = Constant <value = float[2,6] {1,3,5,7,9,11,2,4,6,8,10,12}> ()
        y = MatMul(x, wt)
        parts = Constant <value = int64[3] {2,2,2}> ()
        fq, fk, fv = Split <axis = 2> (y, parts)
        s = Constant <value = int64[4] {0,0,2,1}> ()
        hq = Reshape(fq, s)
        q = Transpose <perm = [0,2,1,3]> (hq)
        hk = Reshape(fk, s)
        k = Transpose <perm = [0,2,1,3]> (hk)]] },
    { "heads of no size", [[
        (float[1,3,2] x, float[6,2] w) => (float[1,2,3,1] q) {
          q, k, v = ruleengine.MHAInProjection <num_heads = 0, head_dim = 1> (x, x, x, w)
        }]],
      rejected = "num_heads and head_dim are not two positive numbers" },
  },
}
