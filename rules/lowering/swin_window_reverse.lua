--- Putting windows together to a map, in standard ops.
local window = lib "window"

return rule {
  doc = [[
    SwinWindowReverse(windows, spatial)   =>   Slice(roll(Reshape(Transpose(Reshape(windows)))))

    The roll and the slice where something was rolled and padded.]],
  phase = "target",

  match = function(op, windows, spatial, side)
    windows:shape "_ _ C"
    return op.ruleengine.SwinWindowReverse{windows, spatial, window_size = side}
  end,

  where = function(m)
    window.need_size(m.side, m.windows)
    m.map = window.map(m.spatial, m.side)
    window.need_windows(m.windows, m.map, m.side, 1)
  end,

  rewrite = function(op, m)
    local size, padded = m.map.size, m.map.padded
    local x = window.rolled(op, window.joined(op, m.windows, padded, m.side, m.C), padded, m.map.shift)
    if size[1] == padded[1] and size[2] == padded[2] then return x end
    return op.Slice(x, {0, 0}, size, {1, 2})
  end,

  examples = {
    { "rolled along one axis and cropped", [[
        (float[4,8,5] windows) => (float[2,3,4,5] y) <int64[7] spatial = {2,3,4,4,4,1,0}> {
          y = ruleengine.SwinWindowReverse <window_size = [2,4]> (windows, spatial)
        }]],
      [[s = Constant <value = int64[6] {-1,2,1,2,4,5}> ()
        c = Reshape(windows, s)
        t = Transpose <perm = [0,1,3,2,4,5]> (c)
        f = Constant <value = int64[4] {-1,4,4,5}> ()
        m = Reshape(t, f)
        three = Constant <value = int64[1] {3}> ()
        four = Constant <value = int64[1] {4}> ()
        one = Constant <value = int64[1] {1}> ()
        a = Slice(m, three, four, one)
        zero = Constant <value = int64[1] {0}> ()
        b = Slice(m, zero, three, one)
        r = Concat <axis = 1> (a, b)
        start = Constant <value = int64[2] {0,0}> ()
        size = Constant <value = int64[2] {3,4}> ()
        axes = Constant <value = int64[2] {1,2}> ()
        y = Slice(r, start, size, axes)]] },
    { "a map of any size", [[
        (float[4,8,5] windows, int64[7] spatial) => (float[2,3,4,5] y) {
          y = ruleengine.SwinWindowReverse <window_size = [2,4]> (windows, spatial)
        }]],
      rejected = "the size of the map is not known" },
  },
}
