--- The bias of a table of relative positions in standard ops.
local window = lib "window"

return rule {
  doc = [[ RelativePositionBias(table, index)   =>   Unsqueeze(Transpose(Reshape(Gather(table, index)))) ]],
  phase = "target",

  match = function(op, table, index, side)
    return op.ruleengine.RelativePositionBias{table, index, window_size = side}
  end,

  where = function(m) window.need_size(m.side, m.table) end,
  rewrite = function(op, m) return window.bias(op, m.table, m.index, m.side) end,

  examples = {
    { "an index of rows and columns", [[
        (float[9,3] table, int64[4,4] index) => (float[1,3,4,4] y) {
          y = ruleengine.RelativePositionBias <window_size = [2,2]> (table, index)
        }]],
      [[flat = Constant <value = int64[1] {-1}> ()
        i = Reshape(index, flat)
        g = Gather <axis = 0> (table, i)
        s = Constant <value = int64[3] {4,4,-1}> ()
        r = Reshape(g, s)
        t = Transpose <perm = [2,0,1]> (r)
        first = Constant <value = int64[1] {0}> ()
        y = Unsqueeze(t, first)]] },
    { "windows of no size", [[
        (float[9,3] table, int64[0] index) => (float[] y) {
          y = ruleengine.RelativePositionBias <window_size = [2,0]> (table, index)
        }]],
      rejected = "window_size is not two positive numbers" },
  },
}
