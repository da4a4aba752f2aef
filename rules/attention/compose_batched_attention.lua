--- Compose attention with one head, or with heads that were merged into the batch.
local attention = lib "attention"
local masking = lib "masking"

return rule {
  doc = [[
    softmax(s q k^T + mask) v   =>   Squeeze(ScaledDotProductAttention(q, k, v, mask, scale = s))    on [B,S,D]

    As compose_scaled_dot_product_attention on [B,H,S,D], with one head; and on [S,D], where neither keys nor values are
    weights. It runs after that rule, which composes attention that can be split into heads.]],
  phase = "attention",
  after = "compose_scaled_dot_product_attention",

  match = function(op, q, k, v, swapped, scale, q_scale, k_scale, S, T)
    q:shape "... S _"

    local keys = either(op.Transpose{k, perm = {0, 2, 1}}, op.Transpose{k, perm = {1, 0}}, swapped)
    keys = attention.scaled(op, keys, k_scale, "k_divided"):shape "... _ T"
    local scores = op.MatMul(attention.scaled(op, q, q_scale, "q_divided"), keys):as "product"
    scores = either(op.Mul(scores, scale), op.Div(scores, scale):as "divided", scores)
    return op.MatMul(attention.softmax(op, scores), v)
  end,

  where = function(m)
    local scores, k, rank = m.product.outputs[1], m.k or m.swapped, m.q:rank()
    need(rank < 4 and k:rank() == rank and m.v:rank() == rank, "the operands do not have the same two or three axes",
      scores)
    need(rank == 3 or not (k:const() or m.v:const()), "the keys or values are constant, so this is a layer", scores)
    m.batch = rank == 3 and scores:dim(0) or 1
    m.numbers = masking.numbers(m, {m.T, m.S, m.batch})
  end,

  rewrite = function(op, m)
    local axes = m.q:rank() == 3 and {1} or {0, 1}
    local function with_head(x) return op.Unsqueeze(x, axes) end
    local k = m.k or op.Transpose{m.swapped, perm = #axes == 1 and {0, 2, 1} or {1, 0}}
    local mask = masking.mask(op, m, m.numbers)
    if mask and mask:rank() == 3 then mask = with_head(mask) end
    local y = attention.build(op, m, with_head(m.q), with_head(k), with_head(m.v), mask, m.batch, 1)
    return op.Squeeze(y, axes)
  end,

  examples = {
    { "one head, a mask", [[
        (float[2,8,16] q, float[2,6,16] k, float[2,6,32] v, float[2,8,6] mask) => (float[2,8,32] y)
        <float c = {0.25}> {
          kt = Transpose <perm = [0,2,1]> (k)
          s = MatMul(q, kt)
          d = Mul(s, c)
          a = Add(d, mask)
          p = Softmax <axis = -1> (a)
          y = MatMul(p, v)
        }]],
      [[one = Constant <value = int64[1] {1}> ()
        qh = Unsqueeze(q, one)
        kh = Unsqueeze(k, one)
        vh = Unsqueeze(v, one)
        mh = Unsqueeze(mask, one)
        yh = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 1, head_dim = 32, scale = 0.25>
          (qh, kh, vh, mh)
        y = Squeeze(yh, one)]] },
    { "without a batch", [[
        (float[8,16] q, float[6,16] k, float[6,32] v) => (float[8,32] y) {
          kt = Transpose <perm = [1,0]> (k)
          s = MatMul(q, kt)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, v)
        }]],
      [[axes = Constant <value = int64[2] {0,1}> ()
        qh = Unsqueeze(q, axes)
        kh = Unsqueeze(k, axes)
        vh = Unsqueeze(v, axes)
        yh = ruleengine.ScaledDotProductAttention <num_heads = 1, head_dim = 32, scale = 1.0> (qh, kh, vh)
        y = Squeeze(yh, axes)]] },
    { "softmax as an activation", [[
        (float[8,2] x) => (float[8,1] y) <float[2,2] w = {1,2,3,4}, float[2,1] u = {1,2}> {
          s = MatMul(x, w)
          p = Softmax <axis = -1> (s)
          y = MatMul(p, u)
        }]],
      rejected = "the keys or values are constant, so this is a layer" },
    { "softmax over the queries", [[
        (float[2,8,16] q, float[2,6,16] k, float[2,6,16] v) => (float[2,8,16] y) {
          kt = Transpose <perm = [0,2,1]> (k)
          s = MatMul(q, kt)
          p = Softmax <axis = 1> (s)
          y = MatMul(p, v)
        }]],
      "kt = Transpose <perm = [0,2,1]> (k) s = MatMul(q, kt) p = Softmax <axis = 1> (s) y = MatMul(p, v)" },
  },
}
