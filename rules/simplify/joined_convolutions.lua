--- Join a convolution and one of a single place that reads it.

local weights = lib "weights"

local function product(list)
  local all = 1
  for _, n in ipairs(list or {}) do all = all * n end
  return all
end

return rule {
  doc = [[
    Conv(Conv(x, w, b), v, c)   =>   Conv(x, v w, v b + c)   if v is of one place

    There are no more products and no more weights than before. The strides are multiplied.]],

  match = function(op, x, w, b, v, c)
    local first = op.Conv{x, w:const(), maybe(b), attrs = any}:as "first"
    return op.Conv{first, v:const(), maybe(c), attrs = any}:as "second"
  end,

  where = function(m)
    local first, second = m.first.attrs, m.second.attrs
    for i = 3, m.v:rank() do need(m.v.shape[i] == 1, "the second convolution is of more than one place", m.v) end
    need(first.group == 1 and second.group == 1, "a convolution is in groups", m.second)
    local auto = second.auto_pad == "NOTSET" or second.auto_pad == "VALID"
    for _, size in ipairs(second.pads or {}) do auto = auto and size == 0 end
    need(auto, "the second convolution pads", m.second)
    for _, conv in ipairs{m.first, m.second} do
      local strides = conv.attrs.strides
      need(not strides or #strides == m.v:rank() - 2, "the strides are not valid", conv)
      for _, step in ipairs(strides or {}) do need(0 < step and step < 2^31, "the strides are not valid", conv) end
    end
    local steps = product(second.strides)
    need(steps == 1 or first.auto_pad == "NOTSET" or first.auto_pad == "VALID",
      "the first convolution computes its padding", m.first)

    local outer, middle = m.v.shape[1], m.w.shape[1]
    local taps = product(m.w.shape) / middle
    -- No more weights are no more products either: with strides the first convolution computes more than is used.
    need(outer * taps <= middle * taps + outer * middle, "the weights would grow", m.second)
    need(#m.w.users == 1 and #m.v.users == 1, "a weight has another reader", m.w)
    for _, bias in ipairs{m.b or false, m.c or false} do
      need(not bias or bias:const(), "a bias is computed", bias or m.v)
    end
  end,

  rewrite = function(op, m)
    local up, down = weights.casts(op, m.w.dtype)
    local outer, sizes = m.v.shape[1], { m.v.shape[1] }
    for i = 2, m.w:rank() do sizes[i] = m.w.shape[i] end
    local across = op.Reshape(up(m.v), {outer, -1})
    local w = op.Reshape(op.MatMul(across, op.Reshape(up(m.w), {m.w.shape[1], -1})), sizes)
    local b = m.b and op.Reshape(op.MatMul(across, op.Reshape(up(m.b), {-1, 1})), {outer})
    if m.c then b = b and op.Add(b, up(m.c)) or up(m.c) end
    need(weights.fits(op, w, m.w.dtype), "a weight might overflow", m.w)
    need(weights.fits(op, b, m.w.dtype), "a bias might overflow", m.c or m.b)
    local first, second = m.first.attrs.strides, m.second.attrs.strides
    local strides = first or second
    if first and second then
      strides = {}
      for i, step in ipairs(first) do strides[i] = step * second[i] end
    end
    return m.first:with{m.x, down(w), b and down(b), strides = strides}
  end,

  examples = {
    { "both with a bias", [[
        (float[B,1,4,4] x) => (float[B,1,3,3] y) <float[2,1,2,2] w = {1,2,3,4, 5,6,7,8}, float[2] b = {1,2},
          float[1,2,1,1] v = {2,3}, float[1] c = {4}> {
          a = Conv(x, w, b)
          y = Conv(a, v, c)
        }]],
      [[w2 = Constant <value = float[1,1,2,2] {17,22,27,32}> ()
        b2 = Constant <value = float[1] {12}> ()
        y = Conv(x, w2, b2)]] },
    { "steps of both, and padding of the first", [[
        (float[B,1,9] x) => (float[B,1,2] y) <float[1,1,3] w = {1,2,3}, float[1,1,1] v = {2}> {
          a = Conv <pads = [1, 1], strides = [2]> (x, w)
          y = Conv <strides = [3]> (a, v)
        }]],
      [[w2 = Constant <value = float[1,1,3] {2,4,6}> ()
        y = Conv <pads = [1, 1], strides = [6]> (x, w2)]] },
    { "a convolution that widens", [[
        (float[B,1,9] x) => (float[B,4,7] y) <float[1,1,3] w = {1,2,3}, float[4,1,1] v = {2,3,4,5}> {
          a = Conv(x, w)
          y = Conv(a, v)
        }]],
      rejected = "the weights would grow" },
    { "one that widens, with strides", [[
        (float[B,1,9,9] x) => (float[B,4,4,4] y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9},
          float[4,1,1,1] v = {2,3,4,5}> {
          a = Conv(x, w)
          y = Conv <strides = [2,2]> (a, v)
        }]],
      rejected = "the weights would grow" },
    { "a first one that something else reads", [[
        (float[B,1,9] x) => (float[B,1,7] y, float[B,1,7] z) <float[1,1,3] w = {1,2,3}, float[1,1,1] v = {2}> {
          a = Conv(x, w)
          y = Conv(a, v)
          z = Neg(a)
        }]],
      "a = Conv(x, w) y = Conv(a, v) z = Neg(a)" },
    { "a second one of more places", [[
        (float[B,1,9] x) => (float[B,1,6] y) <float[1,1,3] w = {1,2,3}, float[1,1,2] v = {2,3}> {
          a = Conv(x, w)
          y = Conv(a, v)
        }]],
      rejected = "the second convolution is of more than one place" },
    { "a second one that pads", [[
        (float[B,1,9] x) => (float[B,1,9] y) <float[1,1,3] w = {1,2,3}, float[1,1,1] v = {2}> {
          a = Conv(x, w)
          y = Conv <pads = [1, 1]> (a, v)
        }]],
      rejected = "the second convolution pads" },
    { "a depthwise convolution", [[
        (float[B,2,9] x) => (float[B,1,7] y) <float[2,1,3] w = {1,2,3,4,5,6}, float[1,2,1] v = {2,3}> {
          a = Conv <group = 2> (x, w)
          y = Conv(a, v)
        }]],
      rejected = "a convolution is in groups" },
    { "a depthwise convolution that is second", [[
        (float[B,1,9] x) => (float[B,2,7] y) <float[2,1,3] w = {1,2,3,4,5,6}, float[2,1,1] v = {2,3}> {
          a = Conv(x, w)
          y = Conv <group = 2> (a, v)
        }]],
      rejected = "a convolution is in groups" },
    { "padding that depends on the step", [[
        (float[B,1,9] x) => (float[B,1,5] y) <float[1,1,3] w = {1,2,3}, float[1,1,1] v = {2}> {
          a = Conv <auto_pad = "SAME_UPPER"> (x, w)
          y = Conv <strides = [2]> (a, v)
        }]],
      rejected = "the first convolution computes its padding" },
    { "a weight of two convolutions", [[
        (float[B,1,9] x) => (float[B,1,7] y, float[B,1,7] z) <float[1,1,3] w = {1,2,3}, float[1,1,1] v = {2}> {
          a = Conv(x, w)
          y = Conv(a, v)
          n = Neg(x)
          z = Conv(n, w)
        }]],
      rejected = "a weight has another reader" },
    { "a second weight of two convolutions", [[
        (float[B,1,9] x) => (float[B,1,7] y, float[B,1,9] z) <float[1,1,3] w = {1,2,3}, float[1,1,1] v = {2}> {
          a = Conv(x, w)
          y = Conv(a, v)
          n = Neg(x)
          z = Conv(n, v)
        }]],
      rejected = "a weight has another reader" },
    { "a computed bias", [[
        (float[B,1,9] x, float[1] c) => (float[B,1,7] y) <float[1,1,3] w = {1,2,3}, float[1,1,1] v = {2}> {
          a = Conv(x, w)
          y = Conv(a, v, c)
        }]],
      rejected = "a bias is computed" },
    { "halves", [[
        (float16[B,1,9] x) => (float16[B,1,7] y) <float16[1,1,3] w = {1.0, 2.0, 3.0}, float16[1,1,1] v = {2.0}> {
          a = Conv(x, w)
          y = Conv(a, v)
        }]],
      "w2 = Constant <value = float16[1,1,3] {2.0, 4.0, 6.0}> () y = Conv(x, w2)" },
    { "halves that are large", [[
        (float16[B,1,9] x) => (float16[B,1,7] y) <float16[1,1,3] w = {1.0, 2.0, 3000.0}, float16[1,1,1] v = {200.0}> {
          a = Conv(x, w)
          y = Conv(a, v)
        }]],
      rejected = "a weight might overflow" },
    { "halves with a large bias", [[
        (float16[B,1,9] x) => (float16[B,1,7] y) <float16[1,1,3] w = {1.0, 2.0, 3.0}, float16[1] b = {600.0},
          float16[1,1,1] v = {200.0}> {
          a = Conv(x, w, b)
          y = Conv(a, v)
        }]],
      rejected = "a bias might overflow" },
    { "halves with two large biases", [[
        (float16[B,1,9] x) => (float16[B,1,7] y) <float16[1,1,3] w = {1.0, 2.0, 3.0}, float16[1] b = {20000.0},
          float16[1,1,1] v = {2.0}, float16[1] c = {40000.0}> {
          a = Conv(x, w, b)
          y = Conv(a, v, c)
        }]],
      rejected = "a bias might overflow" },
  },
}
