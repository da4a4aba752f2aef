--- Let a convolution pad.
local axes = lib "axes"

return rule {
  doc = [[
    Conv(Pad(x, p), w)   =>   Conv(x, w, pads + p)   if the Pad adds zeros around the places alone]],

  match = function(op, x, pads, value, names)
    return op.Conv{op.Pad(x, pads, maybe(value), maybe(names)):as "pad", rest "weights", attrs = any}:as "conv"
  end,

  where = function(m)
    local rank = need(m.x:rank(), "the rank is unknown", m.x)
    local given = need(m.pads:constant(), "the sizes are computed", m.pads)
    local named = m.names and need(m.names:constant(), "the axes are computed", m.names)
    need(#given == 2 * (named and #named or rank), "the Pad is not valid", m.pad)
    need(not m.value or m.value:among(0), "the Pad adds other numbers", m.value)
    local auto = m.conv.attrs.auto_pad
    need(auto == "NOTSET" or auto == "VALID", "the convolution computes its padding", m.conv)

    local count = #given / 2
    local own = auto == "NOTSET" and m.conv.attrs.pads
    m.all = {}
    for i = 1, 2 * (rank - 2) do m.all[i] = own and own[i] or 0 end
    for i = 1, count do
      local axis = axes.from_front(named and named[i] or i - 1, rank)
      local before, after = given[i], given[count + i]
      need(axis >= 0 and axis < rank, "the Pad is not valid", m.pad)
      need(before >= 0 and after >= 0, "the Pad removes places", m.pads)
      if axis < 2 then
        need(before + after == 0, "the Pad adds channels or images", m.pads)
      else
        m.all[axis - 1] = m.all[axis - 1] + before
        m.all[axis - 1 + rank - 2] = m.all[axis - 1 + rank - 2] + after
      end
    end
  end,

  rewrite = function(op, m)
    return m.conv:with{m.x, m.weights, pads = m.all, auto_pad = "NOTSET"}
  end,

  examples = {
    { "before and after rows and columns", [[
        (float[B,3,8,8] x, float[4,3,3,3] w) => (float[B,4,10,9] y) <int64[8] p = {0,0,1,0,0,0,2,1}> {
          a = Pad(x, p)
          y = Conv <pads = [1,1,0,1]> (a, w)
        }]],
      "y = Conv <pads = [2,1,2,2]> (x, w)" },
    { "of named axes, with a bias", [[
        (float[B,3,8] x, float[4,3,3] w, float[4] b) => (float[B,4,8] y)
          <int64[2] p = {1,1}, float zero = {0.0}, int64[1] last = {-1}> {
          a = Pad(x, p, zero, last)
          y = Conv <auto_pad = "VALID"> (a, w, b)
        }]],
      "y = Conv <pads = [1,1]> (x, w, b)" },
    { "by ones", [[
        (float[B,3,8] x, float[4,3,3] w) => (float[B,4,8] y) <int64[6] p = {0,0,1,0,0,1}, float one = {1.0}> {
          a = Pad(x, p, one)
          y = Conv(a, w)
        }]],
      rejected = "the Pad adds other numbers" },
    { "by what is there", [[
        (float[B,3,8] x, float[4,3,3] w) => (float[B,4,8] y) <int64[6] p = {0,0,1,0,0,1}> {
          a = Pad <mode = "edge"> (x, p)
          y = Conv(a, w)
        }]],
      "a = Pad <mode = \"edge\"> (x, p) y = Conv(a, w)" },
    { "by channels", [[
        (float[B,3,8] x, float[4,4,3] w) => (float[B,4,6] y) <int64[6] p = {0,1,0,0,0,0}> {
          a = Pad(x, p)
          y = Conv(a, w)
        }]],
      rejected = "the Pad adds channels or images" },
    { "a place less", [[
        (float[B,3,8] x, float[4,3,3] w) => (float[B,4,5] y) <int64[6] p = {0,0,-1,0,0,0}> {
          a = Pad(x, p)
          y = Conv(a, w)
        }]],
      rejected = "the Pad removes places" },
    { "a computed size", [[
        (float[2,3,8] x, float[4,3,3] w, int64[6] p) => (float[?,?,?] y) {
          a = Pad(x, p)
          y = Conv(a, w)
        }]],
      rejected = "the sizes are computed" },
    { "a convolution that keeps the size", [[
        (float[B,3,8] x, float[4,3,3] w) => (float[B,4,10] y) <int64[6] p = {0,0,1,0,0,1}> {
          a = Pad(x, p)
          y = Conv <auto_pad = "SAME_UPPER"> (a, w)
        }]],
      rejected = "the convolution computes its padding" },
  },
}
