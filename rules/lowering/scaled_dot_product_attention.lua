--- Attention in standard ops.
local fused = lib "fused_attention"
local heads = lib "heads"

-- 0, 1, 2, ... along the axis before the last.
local function places(op, x)
  return op.Range(0, op.Squeeze(op.Gather(op.Shape(x), {2}), {0}), 1)
end

return rule {
  doc = [[
    ScaledDotProductAttention(q, k, v, mask)   =>   softmax(cap(q k^T s) + causal + mask) v

    Key heads that serve several query heads are repeated. Where a mask may hide every key of a query, a guard gives
    zeros for it.]],
  phase = "target",

  match = function(op, q, k, v, mask, scale, causal, softcap, H)
    return fused.attention(op, {q = q, k = k, v = v, mask = mask, scale = scale, causal = causal, softcap = softcap, H = H})
  end,

  where = function(m)
    fused.need_heads(m)
    need(m.scale or heads.positive(m.D), "the size of the heads is not known", m.q)
  end,

  rewrite = function(op, m)
    -- Scores of halves may overflow; those of a query that is scaled first do not.
    local scale = m.scale or m.D ^ -0.5
    local q = scale == 1 and m.q or op.Mul(m.q, scale)
    local scores = op.MatMul(q, op.Transpose{heads.spread(op, m.k, m.G, m.H, m.D), perm = {0, 1, 3, 2}})
    if m.softcap ~= 0 then scores = op.Mul(op.Tanh(op.Div(scores, m.softcap)), m.softcap) end
    if m.causal ~= 0 then
      local behind = op.Greater(op.Unsqueeze(places(op, m.k), {0}), op.Unsqueeze(places(op, m.q), {1}))
      scores = op.Where(behind, -math.huge, scores)
    end
    if m.mask and m.mask.dtype == "bool" then
      scores = op.Where(m.mask, scores, -math.huge)
    elseif m.mask then
      scores = op.Add(scores, m.mask)
    end
    local p = op.Softmax{scores, axis = -1}
    if m.mask then p = op.Where(op.IsNaN(p), 0, p) end
    return op.MatMul(p, heads.spread(op, m.v, m.G, m.H, m.E))
  end,

  examples = {
    { "grouped heads, a mask of booleans", [[
        (float[2,4,8,16] q, float[2,2,8,16] k, float[2,2,8,16] v, bool[2,1,1,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v, mask)
        }]],
      [[two = Constant <value = int64[1] {2}> ()
        twice = Constant <value = int64[5] {1,1,2,1,1}> ()
        heads = Constant <value = int64[4] {0,4,-1,16}> ()
        ku = Unsqueeze(k, two)
        ke = Expand(ku, twice)
        ks = Reshape(ke, heads)
        kt = Transpose <perm = [0,1,3,2]> (ks)
        c = Constant <value = float {0.25}> ()
        qs = Mul(q, c)
        s = MatMul(qs, kt)
        never = Constant <value = float {-inf}> ()
        w = Where(mask, s, never)
        p = Softmax <axis = -1> (w)
        n = IsNaN(p)
        zero = Constant <value = float {0.0}> ()
        g = Where(n, zero, p)
        vu = Unsqueeze(v, two)
        ve = Expand(vu, twice)
        vs = Reshape(ve, heads)
        y = MatMul(g, vs)]] },
    { "causal, of as many tokens as there are", [[
        (float[2,4,S,16] q, float[2,4,L,16] k, float[2,4,L,16] v) => (float[2,4,S,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, is_causal = 1, scale = 1.0> (q, k, v)
        }]],
      [[kt = Transpose <perm = [0,1,3,2]> (k)
        s = MatMul(q, kt)
        two = Constant <value = int64[1] {2}> ()
        first = Constant <value = int64 {0}> ()
        zero = Constant <value = int64[1] {0}> ()
        one = Constant <value = int64[1] {1}> ()
        step = Constant <value = int64 {1}> ()
        ksh = Shape(k)
        kn = Gather(ksh, two)
        kl = Squeeze(kn, zero)
        kr = Range(first, kl, step)
        row = Unsqueeze(kr, zero)
        qsh = Shape(q)
        qn = Gather(qsh, two)
        ql = Squeeze(qn, zero)
        qr = Range(first, ql, step)
        column = Unsqueeze(qr, one)
        behind = Greater(row, column)
        never = Constant <value = float {-inf}> ()
        w = Where(behind, never, s)
        p = Softmax <axis = -1> (w)
        y = MatMul(p, v)]] },
    { "heads that nobody knows", [[
        (float[2,4,8,16] q, float[2,G,8,16] k, float[2,G,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      rejected = "the heads are not known" },
  },
}
