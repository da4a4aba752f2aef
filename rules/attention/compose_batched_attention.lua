--- Compose attention of one head, or of heads that were merged into the batch.
local attention = lib "attention"

return rule {
  doc = [[
    softmax(s q k^T + mask) v   =>   Squeeze(ScaledDotProductAttention(q, k, v, mask, scale = s))    on [B,S,D]

    As compose_scaled_dot_product_attention on [B,H,S,D], with one head. It comes after that rule: what can be split
    into heads is found there.]],
  phase = "attention",
  after = "compose_scaled_dot_product_attention",

  match = function(op, q, k, v, swapped, scale, q_scale, k_scale, cap, times, mask, fill, shown, hidden, guard_fill,
                   ratio, training, B, S, T, E)
    q:shape "B S _"
    v:shape "B _ E"

    local keys = either(op.Transpose{k, perm = {0, 2, 1}}, swapped)
    keys = attention.scaled(op, keys, k_scale, "k_divided"):shape "B _ T"
    local scores = op.MatMul(attention.scaled(op, q, q_scale, "q_divided"), keys)
    scores = either(op.Mul(scores, scale), op.Div(scores, scale):as "divided", scores)
    local p = attention.softmax(op, scores, { cap = cap, times = times, mask = mask, fill = fill, shown = shown,
      hidden = hidden, guard_fill = guard_fill, ratio = ratio, training = training })
    return op.MatMul(p, v)
  end,

  where = function(m) m.numbers = attention.numbers(m, {m.T, m.S, m.B}) end,

  rewrite = function(op, m)
    local function with_head(x) return op.Unsqueeze(x, {1}) end
    local k = m.k or op.Transpose{m.swapped, perm = {0, 2, 1}}
    local mask = attention.mask(op, m, m.numbers)
    if mask and mask:rank() == 3 then mask = with_head(mask) end
    local y = attention.build(op, m, with_head(m.q), with_head(k), with_head(m.v), mask, m.B, 1)
    return op.Squeeze(y, {1})
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
        yh = ruleengine.ScaledDotProductAttention <num_heads = 1, head_dim = 32, scale = 0.25> (qh, kh, vh, mh)
        y = Squeeze(yh, one)]] },
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
