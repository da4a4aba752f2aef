--- Attention inside of windows as the engine's own, its bias and the seams of the roll as the mask.
local heads = lib "heads"
local window = lib "window"

return rule {
  doc = [[
    SwinAttention(q, k, v, table, index, spatial)
      =>   merge_heads(ScaledDotProductAttention(q, k, v, RelativePositionBias(table, index) + seams))

    The seams hold -100 where the roll alone brought two positions of a window together.]],
  phase = "target",

  match = function(op, q, k, v, table, index, spatial, side, H, D, dropout)
    k:shape "_ H N D"
    v:shape "_ H N D"
    return op.ruleengine.SwinAttention{q, k, v, table, index, spatial,
      window_size = side, num_heads = H, head_dim = D, attention_dropout = dropout}
  end,

  where = function(m)
    window.need_size(m.side, m.q)
    m.map = window.map(m.spatial, m.side)
    window.need_windows(m.q, m.map, m.side, 2)
  end,

  rewrite = function(op, m)
    local mask = window.bias(op, m.table, m.index, m.side)
    local regions, count, n = window.regions(m.map, m.side), m.map.count, m.side[1] * m.side[2]
    if regions then
      local one = op.Reshape(op.Cast{regions, to = "int64"}, {count, 1, 1, n})
      local same = op.Equal(one, op.Reshape(one, {count, 1, n, 1}))
      mask = op.Where(same, mask, op.Add(mask, -100))
      if m.map.batch ~= 1 then mask = op.Tile(mask, {m.map.batch, 1, 1, 1}) end
    end
    local y = op.ruleengine.ScaledDotProductAttention{m.q, m.k, m.v, mask,
      num_heads = m.H, head_dim = m.D, dropout_p = m.dropout}
    return heads.merged(op, y, m.H, m.D)
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
