--- Attention in standard ops.
local attention = lib "attention"

return rule {
  doc = [[
    ScaledDotProductAttention(q, k, v, mask)   =>   softmax(cap(q k^T s) + causal + mask) v

    Key heads that serve several query heads are repeated. Where a mask may hide every key of a query, a guard gives
    zeros for it.]],
  phase = "target",

  match = function(op, q, k, v, mask, scale, causal, softcap, H)
    return attention.fused(op, {q = q, k = k, v = v, mask = mask, scale = scale, causal = causal, softcap = softcap, H = H})
  end,

  where = function(m)
    attention.need_heads(m)
    need(m.scale or attention.positive(m.D), "the size of the heads is not known", m.q)
    need(m.causal == 0 or (type(m.S) == "number" and type(m.L) == "number"), "the lengths are not known", m.q)
  end,

  rewrite = function(op, m)
    local scores = op.MatMul(m.q, op.Transpose{attention.spread(op, m.k, m.G, m.H, m.D), perm = {0, 1, 3, 2}})
    local scale = m.scale or m.D ^ -0.5
    if scale ~= 1 then scores = op.Mul(scores, scale) end
    if m.softcap ~= 0 then scores = op.Mul(op.Tanh(op.Div(scores, m.softcap)), m.softcap) end
    if m.causal ~= 0 then
      local row = {}
      for i = 1, m.L do row[i] = i - 1 end
      local column = {}
      for i = 1, m.S do column[i] = i - 1 end
      local behind = op.Greater(op.Unsqueeze(op.Cast{row, to = "int64"}, {0}), op.Unsqueeze(op.Cast{column, to = "int64"}, {1}))
      scores = op.Where(behind, -math.huge, scores)
    end
    if m.mask and m.mask.dtype == "bool" then
      scores = op.Where(m.mask, scores, -math.huge)
    elseif m.mask then
      scores = op.Add(scores, m.mask)
    end
    local p = op.Softmax{scores, axis = -1}
    if m.mask or m.causal ~= 0 then p = op.Where(op.IsNaN(p), 0, p) end
    return op.MatMul(p, attention.spread(op, m.v, m.G, m.H, m.E))
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
        s = MatMul(q, kt)
        c = Constant <value = float {0.25}> ()
        d = Mul(s, c)
        never = Constant <value = float {-inf}> ()
        w = Where(mask, d, never)
        p = Softmax <axis = -1> (w)
        n = IsNaN(p)
        zero = Constant <value = float {0.0}> ()
        g = Where(n, zero, p)
        vu = Unsqueeze(v, two)
        ve = Expand(vu, twice)
        vs = Reshape(ve, heads)
        y = MatMul(g, vs)]] },
    { "heads that nobody knows", [[
        (float[2,4,8,16] q, float[2,G,8,16] k, float[2,G,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      rejected = "the heads are not known" },
  },
}
