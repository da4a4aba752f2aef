--- Split a product of several layers into a product for each.
local linear = lib "linear"

-- One more product is one more node. A node takes about 5 us to start, enough to copy 6,000 floats
-- (tests/bench/results/2026-11-25-merged-products.md).
local NUMBERS_PER_NODE = 6000

-- Part of a bias that is broadcast to the product: its last axis, unless that is 1.
local function of_bias(op, b, width, start, stop)
  if b:rank() == 0 or b:dim(-1) ~= width then return b end
  return op.Slice(b, {start}, {stop}, {-1})
end

return rule {
  doc = [[
    Split(x W^T + b)   =>   x W1^T + b1, x W2^T + b2, ...   W and b are constant

    On a CPU one product takes as long as its parts, and a Split copies it.]],
  phase = "target",

  match = function(op, x, w, b)
    w:const "O _"
    b:const "..."
    return op.Split{linear.any(op, x, w, b), maybe(any), axis = any, num_outputs = any, outputs = any}:as "split"
  end,

  where = function(m)
    m.ends = {[0] = 0}
    for i, part in ipairs(m.split.outputs) do
      local width = part:dim(-1)
      need(type(width) == "number", "the width of a part is unknown", m.split)
      need(width > 0, "a part is empty", m.split)
      m.ends[i] = m.ends[i - 1] + width
    end
    local y, axis = m.split.outputs[1], m.split.attrs.axis
    need(axis == -1 or axis == y:rank() - 1, "the parts are not along the last axis", m.split)
    local rows = 1
    for i = 0, y:rank() - 2 do
      local size = y:dim(i)
      rows = rows and type(size) == "number" and rows * size
    end
    local copies = rows and rows * m.O
    need(not copies or copies > NUMBERS_PER_NODE * (#m.ends - 1), "more nodes take longer than the copy", m.split)
  end,

  rewrite = function(op, m)
    local old, new = m.split.outputs, {}
    for i, stop in ipairs(m.ends) do
      local start = m.ends[i - 1]
      local b = m.b and of_bias(op, m.b, m.O, start, stop)
      local w = op.Slice(m.w, {start}, {stop}, {0})
      need(not w.producer, "the weight cannot be cut without a copy", m.w)
      new[i] = linear.apply(op, m.x, w, b)
    end
    for i = 2, #new do old[i]:replace_with(new[i]) end
    return new[1]
  end,

  examples = {
    { "two products with a bias, and rows of a named number", [[
        (float[R,2] x) => (float[R,1] y, float[R,2] z)
        <float[2,3] w = {1,2,3,4,5,6}, float[3] b = {1,2,3}, int64[2] parts = {1,2}> {
          p = MatMul(x, w)
          s = Add(p, b)
          y, z = Split <axis = 1> (s, parts)
        }]],
      [[w1 = Constant <value = float[2,1] {1,4}> ()
        b1 = Constant <value = float[1] {1}> ()
        w2 = Constant <value = float[2,2] {2,3,5,6}> ()
        b2 = Constant <value = float[2] {2,3}> ()
        p1 = MatMul(x, w1)
        y = Add(p1, b1)
        p2 = MatMul(x, w2)
        z = Add(p2, b2)]] },
    { "few rows", [[
        (float[5,2] x) => (float[5,1] y, float[5,2] z)
        <float[2,3] w = {1,2,3,4,5,6}, float[3] b = {1,2,3}, int64[2] parts = {1,2}> {
          p = MatMul(x, w)
          s = Add(p, b)
          y, z = Split <axis = 1> (s, parts)
        }]],
      rejected = "more nodes take longer than the copy" },
    { "parts of equal width, and one number for all as bias", [[
        (float[2,R,2] x) => (float[2,R,2] y)
        <float[2,4] w = {1,2,3,4,5,6,7,8}, float b = {0.5}> {
          p = MatMul(x, w)
          s = Add(p, b)
          y, z = Split <axis = -1, num_outputs = 2> (s)
        }]],
      [[w1 = Constant <value = float[2,2] {1,2,5,6}> ()
        p1 = MatMul(x, w1)
        y = Add(p1, b)]] },
    { "parts of the rows", [[
        (float[4,2] x) => (float[2,4] y, float[2,4] z) <float[2,4] w = {1,2,3,4,5,6,7,8}> {
          p = MatMul(x, w)
          y, z = Split <axis = 0, num_outputs = 2> (p)
        }]],
      rejected = "the parts are not along the last axis" },
    { "a part of nothing", [[
        (float[R,2] x) => (float[R,4] y, float[R,0] z)
        <float[2,4] w = {1,2,3,4,5,6,7,8}, int64[2] parts = {4,0}> {
          p = MatMul(x, w)
          y, z = Split <axis = -1> (p, parts)
        }]],
      rejected = "a part is empty" },
    { "parts of a number that is not known", [[
        (float[R,2] x, int64[2] parts) => (float[R,N] y, float[R,M] z) <float[2,4] w = {1,2,3,4,5,6,7,8}> {
          p = MatMul(x, w)
          y, z = Split <axis = -1> (p, parts)
        }]],
      rejected = "the width of a part is unknown" },
  },
}
