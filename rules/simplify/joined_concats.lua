--- Join the parts of a part.
local axes = lib "axes"

return rule {
  doc = [[ Concat(a, Concat(b, c), d)   =>   Concat(a, b, c, d)   along the same axis ]],

  match = function(op)
    return op.Concat{rest "parts", axis = any}:as "whole"
  end,

  where = function(m)
    m.rank = need(m.whole.outputs[1]:rank(), "the rank is unknown", m.whole)
    m.axis = axes.from_front(m.whole.attrs.axis, m.rank)
    m.all = {}
    local found = false
    for _, part in ipairs(m.parts) do
      local inner = part.producer
      local joins = inner and inner.op == "Concat" and inner.domain == "" and #part.users == 1 and
        not part.is_output and axes.from_front(inner.attrs.axis, m.rank) == m.axis
      found = found or joins
      for _, each in ipairs(joins and inner.inputs or { part }) do m.all[#m.all + 1] = each end
    end
    need(found, "no part is a Concat of this axis that nothing else reads", m.whole)
  end,

  rewrite = function(op, m) return op.Concat{m.all, axis = m.axis} end,

  examples = {
    { "in the middle", [[
        (float[2,B] a, float[2,3] b, float[2,4] c, float[2,1] d) => (float[2,?] y) {
          i = Concat <axis = 1> (b, c)
          y = Concat <axis = -1> (a, i, d)
        }]],
      "y = Concat <axis = 1> (a, b, c, d)" },
    { "of the other axis", [[
        (float[2,3] a, float[2,3] b, float[4,2] d) => (float[4,5] y) {
          i = Concat <axis = 0> (a, b)
          y = Concat <axis = 1> (i, d)
        }]],
      rejected = "no part is a Concat of this axis" },
    { "with another reader", [[
        (float[2,3] a, float[2,3] b, float[2,2] d) => (float[2,8] y, float[2,6] z) {
          i = Concat <axis = 1> (a, b)
          y = Concat <axis = 1> (i, d)
          z = Neg(i)
        }]],
      rejected = "that nothing else reads" },
    { "that is an output", [[
        (float[2,3] a, float[2,3] b, float[2,2] d) => (float[2,8] y, float[2,6] i) {
          i = Concat <axis = 1> (a, b)
          y = Concat <axis = 1> (i, d)
        }]],
      rejected = "that nothing else reads" },
  },
}
