--- Replace a value by the value that is assigned to all of its elements.

-- Whether x counts from 0 in steps of 1 along this axis of this shape, and is constant along the others.
local function counts(x, axis, shape)
  local first = x:rank() == 1 and x or x.producer and x.producer.op == "Reshape" and x.producer.inputs[1]
  local range = first and first.producer
  if not range or range.op ~= "Range" then return false end
  if range.inputs[1]:scalar() ~= 0 or range.inputs[3]:scalar() ~= 1 then return false end
  if x:rank() ~= #shape - axis + 1 or x.shape[1] ~= shape[axis] then return false end
  for i = 2, x:rank() do
    if x.shape[i] ~= 1 then return false end
  end
  return true
end

return rule {
  doc = [[
    ScatterND(x, all indices, y)   =>   y

    The export of x[:, :] = y: its indices are one Range for each axis.]],
  phase = "canonical",

  match = function(op, x, y)
    return op.ScatterND{x, op.Concat{rest "places", axis = -1}, y}
  end,

  where = function(m)
    local rank = need(m.x:rank(), "the rank is unknown", m.x)
    need(m.y.shape == m.x.shape, "the assignment covers a part only", m.y)
    need(#m.places == rank, "the places do not cover all axes", m.x)
    for axis, place in ipairs(m.places) do
      local node = place.producer
      node = node and node.op == "Unsqueeze" and node.inputs[1].producer
      need(node and node.op == "Expand", "the places are not made by Expand", place)
      need(counts(node.inputs[1], axis, m.x.shape), "the places of an axis are not 0, 1, 2, ...", place)
    end
  end,

  rewrite = function(op, m) return m.y end,

  examples = {
    { "every row and column", [[
        (float[B,4] x, float[B,4] y) => (float[B,4] z)
        <int64 zero = {0}, int64 one = {1}, int64 four = {4}, int64[2] column = {-1,1}, int64[1] last = {-1}> {
          sizes = Shape(x)
          rows = Gather(sizes, zero)
          r = Range(zero, rows, one)
          rr = Reshape(r, column)
          re = Expand(rr, sizes)
          ru = Unsqueeze(re, last)
          c = Range(zero, four, one)
          ce = Expand(c, sizes)
          cu = Unsqueeze(ce, last)
          places = Concat <axis = -1> (ru, cu)
          a = Neg(y)
          z = ScatterND(x, places, a)
        }]],
      "z = Neg(y)" },
    { "backwards", [[
        (float[4,4] x, float[4,4] y) => (float[4,4] z)
        <int64 zero = {0}, int64 one = {1}, int64 three = {3}, int64 less = {-1}, int64 four = {4},
         int64[2] column = {-1,1}, int64[1] last = {-1}> {
          sizes = Shape(x)
          r = Range(three, less, less)
          rr = Reshape(r, column)
          re = Expand(rr, sizes)
          ru = Unsqueeze(re, last)
          c = Range(zero, four, one)
          ce = Expand(c, sizes)
          cu = Unsqueeze(ce, last)
          places = Concat <axis = -1> (ru, cu)
          z = ScatterND(x, places, y)
        }]],
      rejected = "the places of an axis are not 0, 1, 2, ..." },
  },
}
