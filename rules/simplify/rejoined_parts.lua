--- Remove a Split whose parts are joined again, and a Concat that is split again.
local axes = lib "axes"

return rule {
  doc = [[
    Concat(Split(x))         =>   x          all parts, in their order, along the same axis
    Split(Concat(a, b))      =>   a, b       into the parts as they were]],

  pass = function(graph)
    for _, whole in ipairs(graph:nodes{op = "Concat", domain = ""}) do
      local split = whole.inputs[1].producer
      if split and split.op == "Split" and split.domain == "" and #split.outputs == #whole.inputs then
        attempt(whole, function()
          local rank = need(whole.outputs[1]:rank(), "the rank is unknown", whole)
          local same = axes.from_front(split.attrs.axis, rank) == axes.from_front(whole.attrs.axis, rank)
          need(same, "the axis is another one", whole)
          for i, part in ipairs(split.outputs) do need(part == whole.inputs[i], "the order is another one", part) end
          whole.outputs[1]:replace_with(split.inputs[1])
        end)
      end
    end
    for _, split in ipairs(graph:nodes{op = "Split", domain = ""}) do
      local whole = split.inputs[1].producer
      if whole and whole.op == "Concat" and whole.domain == "" and #whole.inputs == #split.outputs then
        attempt(split, function()
          local rank = need(split.inputs[1]:rank(), "the rank is unknown", split)
          local axis = axes.from_front(split.attrs.axis, rank)
          need(axis == axes.from_front(whole.attrs.axis, rank), "the axis is another one", split)
          for i, part in ipairs(split.outputs) do
            need(part:dim(axis) == whole.inputs[i]:dim(axis), "the parts are others", part)
          end
          for i, part in ipairs(split.outputs) do part:replace_with(whole.inputs[i]) end
        end)
      end
    end
  end,

  examples = {
    { "apart and together", [[
        (float[B,6] x) => (float[B,6] y) <int64[2] s = {4,2}> {
          a, b = Split <axis = 1> (x, s)
          c = Concat <axis = -1> (a, b)
          y = Neg(c)
        }]],
      "y = Neg(x)" },
    { "turned round", [[
        (float[B,6] x) => (float[B,6] y) <int64[2] s = {4,2}> {
          a, b = Split <axis = 1> (x, s)
          y = Concat <axis = 1> (b, a)
        }]],
      rejected = "the order is another one" },
    { "joined along the other axis", [[
        (float[2,6] x) => (float[4,3] y) <int64[2] s = {3,3}> {
          a, b = Split <axis = 1> (x, s)
          y = Concat <axis = 0> (a, b)
        }]],
      rejected = "the axis is another one" },
    { "together and apart", [[
        (float[B,4] a, float[B,2] b) => (float[B,4] y, float[B,2] z) <int64[2] s = {4,2}> {
          c = Concat <axis = -1> (a, b)
          d, e = Split <axis = 1> (c, s)
          y = Neg(d)
          z = Neg(e)
        }]],
      "y = Neg(a) z = Neg(b)" },
    { "apart elsewhere", [[
        (float[B,4] a, float[B,2] b) => (float[B,3] y, float[B,3] z) <int64[2] s = {3,3}> {
          c = Concat <axis = 1> (a, b)
          y, z = Split <axis = 1> (c, s)
        }]],
      rejected = "the parts are others" },
    { "apart along the other axis", [[
        (float[2,4] a, float[2,4] b) => (float[1,8] y, float[1,8] z) <int64[2] s = {1,1}> {
          c = Concat <axis = 1> (a, b)
          y, z = Split <axis = 0> (c, s)
        }]],
      rejected = "the axis is another one" },
  },
}
