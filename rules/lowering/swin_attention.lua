--- Attention inside of windows as the engine's own, its bias and the seams of the roll as the mask.
local attention = lib "attention"
local window = lib "window"

return rule {
  doc = [[
    SwinAttention(q, k, v, table, index, spatial)
      =>   merge_heads(ScaledDotProductAttention(q, k, v, RelativePositionBias(table, index) + seams))

    The seams hold -100 where the roll alone brought two positions of a window together.]],
  phase = "target",

  match = function(op, q, k, v, table, index, spatial, side, H, D, dropout)
    q:shape "_ H N D"
    k:shape "_ H N D"
    v:shape "_ H N D"
    return op.ruleengine.SwinAttention{q, k, v, table, index, spatial,
      window_size = side, num_heads = H, head_dim = D, attention_dropout = dropout}
  end,

  where = function(m)
    window.need_size(m.side, m.q)
    local _, padded, shift = window.sizes(m.spatial)
    m.regions = window.regions(padded, m.side, shift)
    m.windows = padded[1] / m.side[1] * (padded[2] / m.side[2])
    m.batch = m.spatial:dims()[1]
  end,

  rewrite = function(op, m)
    local mask, n = window.bias(op, m.table, m.index, m.side), m.side[1] * m.side[2]
    if m.regions then
      local regions = op.Reshape(op.Cast{m.regions, to = "int64"}, {m.windows, 1, 1, n})
      local same = op.Equal(regions, op.Reshape(regions, {m.windows, 1, n, 1}))
      mask = op.Where(same, mask, op.Add(mask, -100))
      if m.batch ~= 1 then mask = op.Tile(mask, {m.batch, 1, 1, 1}) end
    end
    local y = op.ruleengine.ScaledDotProductAttention{m.q, m.k, m.v, mask,
      num_heads = m.H, head_dim = m.D, dropout_p = m.dropout}
    return attention.merged(op, y, m.H, m.D)
  end,

  examples = {
    { "one window, which needs no roll", [[
        (float[2,2,4,3] q, float[2,2,4,3] k, float[2,2,4,3] v, float[9,2] table, int64[16] index) => (float[2,4,6] y)
        <int64[7] spatial = {2,2,2,2,2,0,0}> {
          y = ruleengine.SwinAttention <window_size = [2,2], num_heads = 2, head_dim = 3> (q, k, v, table, index, spatial)
        }]],
      [[flat = Constant <value = int64[1] {-1}> ()
        i = Reshape(index, flat)
        g = Gather <axis = 0> (table, i)
        s = Constant <value = int64[3] {4,4,-1}> ()
        r = Reshape(g, s)
        t = Transpose <perm = [2,0,1]> (r)
        first = Constant <value = int64[1] {0}> ()
        b = Unsqueeze(t, first)
        a = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 3> (q, k, v, b)
        u = Transpose <perm = [0,2,1,3]> (a)
        m = Constant <value = int64[3] {0,0,6}> ()
        y = Reshape(u, m)]] },
    { "two windows, rolled by one", [[
        (float[4,1,2,3] q, float[4,1,2,3] k, float[4,1,2,3] v) => (float[4,2,3] y)
        <float[3,1] table = {1,2,3}, int64[4] index = {1,0,2,1}, int64[7] spatial = {2,1,4,1,4,0,1}> {
          y = ruleengine.SwinAttention <window_size = [1,2], num_heads = 1, head_dim = 3> (q, k, v, table, index, spatial)
        }]],
      [[b = Constant <value = float[4,1,2,2] {2,1,3,2, 2,-99,-97,2, 2,1,3,2, 2,-99,-97,2}> ()
        a = ruleengine.ScaledDotProductAttention <num_heads = 1, head_dim = 3> (q, k, v, b)
        u = Transpose <perm = [0,2,1,3]> (a)
        m = Constant <value = int64[3] {0,0,3}> ()
        y = Reshape(u, m)]] },
    { "a map of any size", [[
        (float[4,1,2,3] q, float[4,1,2,3] k, float[4,1,2,3] v, float[3,1] table, int64[4] index, int64[7] spatial)
          => (float[4,2,3] y) {
          y = ruleengine.SwinAttention <window_size = [1,2], num_heads = 1, head_dim = 3> (q, k, v, table, index, spatial)
        }]],
      rejected = "the size of the map is not known" },
  },
}
