--- Compose attention in which query heads that share a key head are rows of one product.
local attention = lib "attention"
local heads = lib "heads"
local masking = lib "masking"

return rule {
  doc = [[
    apart(together(softmax(s apart(together(q) k^T) + mask)) v)
      =>   ScaledDotProductAttention(q, k, v, mask, scale = s)

    q is [B,H,S,D], k is [B,G,T,D]. The H/G heads that share a head of k are consecutive, so together(q) is
    [B,G,H/G S,D]; apart is the inverse. `--target standard` writes attention in this form, which repeats no key.]],
  phase = "attention",

  -- The shape of together(q) is not checked: with another one, the products would have another number of elements.
  match = function(op, q, k, v, swapped, scale, q_scale, k_scale, B, G, H, S, T, E)
    v:shape "B G T E"
    local function together(x) return op.Reshape{x, any, allowzero = any} end
    local apart = together

    local keys = either(
      function() k:shape "B G T _"; return op.Transpose{k, perm = {0, 1, 3, 2}} end,
      function() swapped:shape "B G _ T"; return swapped end)
    keys = attention.scaled(op, keys, k_scale, "k_divided")
    local scores = apart(op.MatMul(together(attention.scaled(op, q, q_scale, "q_divided")), keys)):shape "B H S T"
    scores = either(op.Mul(scores, scale), op.Div(scores, scale):as "divided", scores)
    return apart(op.MatMul(together(attention.softmax(op, scores)), v)):shape "B H S E"
  end,

  where = function(m)
    need(heads.positive(m.G) and heads.positive(m.H) and m.G < m.H and m.H % m.G == 0, "no heads share a key", m.q)
    m.numbers = masking.numbers(m, {m.T, m.S, m.H, m.B})
  end,

  rewrite = function(op, m)
    local k = m.k or op.Transpose{m.swapped, perm = {0, 1, 3, 2}}
    return attention.build(op, m, m.q, k, m.v, masking.mask(op, m, m.numbers), m.B, m.H)
  end,

  examples = {
    { "a mask, lengths that are known when the model runs", [[
        (float[B,4,S,8] q, float[B,2,T,8] k, float[B,2,T,6] v, float[S,T] m) => (float[B,4,S,6] y)
        <int64[1] two = {2}, int64[1] axis = {2}, int64[2] groups = {0,2}, int64[2] heads = {0,4}, int64[1] last = {0},
         float c = {0.5}> {
          shape = Shape(q)
          rows = Gather(shape, axis)
          all = Mul(rows, two)
          together = Concat <axis = 0> (groups, all, last)
          apart = Concat <axis = 0> (heads, rows, last)
          qg = Reshape(q, together)
          kt = Transpose <perm = [0,1,3,2]> (k)
          sg = MatMul(qg, kt)
          s = Reshape(sg, apart)
          d = Mul(s, c)
          a = Add(d, m)
          p = Softmax <axis = -1> (a)
          pg = Reshape(p, together)
          yg = MatMul(pg, v)
          y = Reshape(yg, apart)
        }]],
      "y = ruleengine.ScaledDotProductAttention <guarded = 0, num_heads = 4, head_dim = 6, scale = 0.5> (q, k, v, m)" },
    { "keys that are transposed already, one for all queries", [[
        (float[2,4,6,8] q, float[2,1,8,5] kt, float[2,1,5,8] v) => (float[2,4,6,8] y)
        <int64[4] queries = {2,1,24,8}, int64[4] weights = {2,1,24,5},
          int64[4] scores = {2,4,6,5}, int64[4] apart = {2,4,6,8}> {
          qg = Reshape(q, queries)
          sg = MatMul(qg, kt)
          s = Reshape(sg, scores)
          p = Softmax <axis = -1> (s)
          pg = Reshape(p, weights)
          yg = MatMul(pg, v)
          y = Reshape(yg, apart)
        }]],
      [[k = Transpose <perm = [0,1,3,2]> (kt)
        y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, scale = 1.0> (q, k, v)]] },
    { "as many keys", [[
        (float[2,4,6,8] q, float[2,4,5,8] k, float[2,4,5,8] v) => (float[2,4,6,8] y)
        <int64[4] queries = {2,4,6,8}, int64[4] scores = {2,4,6,5}> {
          qg = Reshape(q, queries)
          kt = Transpose <perm = [0,1,3,2]> (k)
          sg = MatMul(qg, kt)
          s = Reshape(sg, scores)
          p = Softmax <axis = -1> (s)
          pg = Reshape(p, scores)
          yg = MatMul(pg, v)
          y = Reshape(yg, queries)
        }]],
      rejected = "no heads share a key" },
  },
}
