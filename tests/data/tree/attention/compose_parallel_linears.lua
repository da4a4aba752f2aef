--- Pack the three projections of one source into one, in the tree grammar.
local tree = lib "tree"
local linear = lib "linear"
local Fork, SharedNodeCheck, is = tree.Fork, tree.SharedNodeCheck, tree.is

-- The source is the same value in all three branches.
local source = SharedNodeCheck()

local is_linear = tree.pattern(function(op, name, x)
  x:shape "B S I"
  local rows = either(context(op.Reshape{x, any, allowzero = any}:shape "_ I"), x)
  return linear.any(op, rows, name "w", name "b")
end)
local is_reshape = is("Reshape", {allowzero = any})
local is_transpose_0213 = is("Transpose", {perm = {0, 2, 1, 3}}):shape "B H S D"

local branch = Fork{
  inputs = {{source, is_linear}, any},
  operator = is_reshape,
  output = {is_transpose_0213},
}

local function projections(t)
  local w, b = {}, {}
  for i = 1, 3 do w[i], b[i] = t:get(i - 1, 0, 1, "w"), t:get(i - 1, 0, 1, "b") end
  return w, b
end

local function make_parallel_linears(t)
  return function(op)
    local x, w, b = t:get_value(0, 0, 0), projections(t)
    local packed_w = op.Concat{w[1], w[2], w[3], axis = 0}
    local packed_b = b[1] and op.Concat{b[1], b[2], b[3], axis = 0}
    local q, k, v = op.ruleengine.MHAInProjection{x, x, x, packed_w, packed_b,
      num_heads = t.m.H, head_dim = t.m.D, outputs = 3}
    return t:pre_trunk():with(q, k, v, t:get_value(3))
  end
end

return rule(tree.rule {
  doc = [[
    attend(heads(x Wq^T + bq), heads(x Wk^T + bk), heads(x Wv^T + bv), ...)
      =>   q, k, v = MHAInProjection(x, x, x, [Wq; Wk; Wv], [bq; bk; bv]);  attend(q, k, v, ...)]],
  phase = "attention",
  tree = Fork{
    inputs = {branch, branch, branch, any},
    operator = is({"ruleengine.ScaledDotProductAttention", "Attention", "aten.scaled_dot_product_attention"}, {attrs = any}),
    perms_override = {{0, 1, 2}, {0, 1, 2, 3}},
  },
  where = function(t)
    local w, b = projections(t)
    need(w[1].shape == w[2].shape and w[2].shape == w[3].shape, "the projections have different shapes", w[2])
    need((b[1] ~= nil) == (b[2] ~= nil) and (b[2] ~= nil) == (b[3] ~= nil), "only some projections have a bias",
      t:pre_trunk())
    for i = 1, 3 do
      need(not b[i] or (b[i]:rank() == 1 and b[i]:dim(0) == w[i]:dim(0)), "a bias is not one number for each output", b[i])
    end
  end,
  graft = {make_parallel_linears},

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
})
