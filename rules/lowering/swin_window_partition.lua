--- Cutting a map into windows, in standard ops.
local window = lib "window"

return rule {
  doc = [[
    SwinWindowPartition(x)   =>   Reshape(Transpose(Reshape(roll(Pad(x)))));  batch, sizes, padded sizes, shift

    The pad and the roll where there is something to pad and to roll.]],
  phase = "target",

  match = function(op, x, side, shift)
    x:shape "B H W C"
    return op.ruleengine.SwinWindowPartition{x, window_size = side, shift_size = shift, outputs = 2}
  end,

  where = function(m)
    window.need_size(m.side, m.x)
    need(type(m.H) == "number" and type(m.W) == "number", "the size of the map is not known", m.x)
    need(#m.shift == 2 and m.shift[1] >= 0 and m.shift[2] >= 0, "shift_size is not two numbers from 0 on", m.x)
    m.size, m.padded, m.steps = {m.H, m.W}, {}, {}
    for i, n in ipairs(m.size) do
      m.padded[i] = math.ceil(n / m.side[i]) * m.side[i]
      m.steps[i] = m.side[i] < m.padded[i] and m.shift[i] or 0
    end
  end,

  rewrite = function(op, m)
    local x, padded, steps = m.x, m.padded, m.steps
    if padded[1] ~= m.H or padded[2] ~= m.W then x = op.Pad(x, {0, 0, 0, 0, 0, padded[1] - m.H, padded[2] - m.W, 0}) end
    x = window.rolled(op, x, padded, {-steps[1], -steps[2]})
    return window.cut(op, x, padded, m.side, m.C), {m.B, m.H, m.W, padded[1], padded[2], steps[1], steps[2]}
  end,

  examples = {
    { "padded and rolled along one axis", [[
        (float[2,3,4,5] x) => (float[4,8,5] windows, int64[7] spatial) {
          windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,4], shift_size = [1,1]> (x)
        }]],
      [[pads = Constant <value = int64[8] {0,0,0,0,0,1,0,0}> ()
        p = Pad(x, pads)
        one = Constant <value = int64[1] {1}> ()
        four = Constant <value = int64[1] {4}> ()
        a = Slice(p, one, four, one)
        zero = Constant <value = int64[1] {0}> ()
        b = Slice(p, zero, one, one)
        r = Concat <axis = 1> (a, b)
        s = Constant <value = int64[6] {0,2,2,1,4,5}> ()
        c = Reshape(r, s)
        t = Transpose <perm = [0,1,3,2,4,5]> (c)
        f = Constant <value = int64[3] {-1,8,5}> ()
        windows = Reshape(t, f)
        said = Constant <value = int64[7] {2,3,4,4,4,1,0}> ()
        spatial = Identity(said)]] },
    { "a map of any height", [[
        (float[2,H,4,5] x) => (float[N,8,5] windows, int64[7] spatial) {
          windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,4], shift_size = [1,1]> (x)
        }]],
      rejected = "the size of the map is not known" },
  },
}
