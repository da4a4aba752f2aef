--- Split one copy of what stands twice.
local axes = lib "axes"

return rule {
  doc = [[
    Split(g(Concat(f, f)))   =>   Split(g(f)), each part twice

    g are ops of one input that work on each element. The second half of the parts has the widths of the first. So the
    angles of several axes of positions are mixed: cosines of angles that stand twice are split, and a part of each is
    joined.]],
  phase = "canonical",

  match = function(op, f)
    local made = context(many(function(s)
      return op.elementwise_unary(s):as "node"
    end, op.Concat{f, f, axis = any}:as "twice"):as "steps")
    return op.Split{made, maybe(any), axis = any, num_outputs = any, outputs = any}:as "split"
  end,

  where = function(m)
    local rank = need(m.f:rank(), "the rank is unknown", m.f)
    local outputs = m.split.outputs
    m.axis, m.half = axes.from_front(m.split.attrs.axis, rank), #outputs / 2
    need(m.axis == axes.from_front(m.twice.attrs.axis, rank), "the axis is another one", m.split)
    need(m.half % 1 == 0, "the halves have different parts", m.split)
    m.widths = {}
    for i = 1, m.half do
      m.widths[i] = outputs[i]:dim(m.axis)
      need(type(m.widths[i]) == "number", "the width of a part is unknown", outputs[i])
      need(m.widths[i] == outputs[i + m.half]:dim(m.axis), "the halves have different parts", m.split)
    end
  end,

  rewrite = function(op, m)
    local made = m.f
    for _, step in ipairs(m.steps) do made = step.node:with(made) end
    local parts = {made}
    if m.half > 1 then parts = {op.Split{made, m.widths, axis = m.axis, outputs = m.half}} end
    for i = 2, 2 * m.half do m.split.outputs[i]:replace_with(parts[(i - 1) % m.half + 1]) end
    return parts[1]
  end,

  examples = {
    { "two parts of cosines", [[
        (float[2,4] f) => (float[2,1] a, float[2,3] b, float[2,1] c, float[2,3] d, float[2,8] z)
          <int64[4] widths = {1,3,1,3}> {
          t = Concat <axis = 1> (f, f)
          x = Cos(t)
          z = Sin(t)
          p, q, r, s = Split <axis = -1> (x, widths)
          a = Neg(p)
          b = Neg(q)
          c = Abs(r)
          d = Abs(s)
        }]],
      [[w = Constant <value = int64[2] {1,3}> ()
        t = Concat <axis = 1> (f, f)
        z = Sin(t)
        x = Cos(f)
        p, q = Split <axis = 1> (x, w)
        a = Neg(p)
        b = Neg(q)
        c = Abs(p)
        d = Abs(q)]] },
    { "one part", [[
        (float[2,4] f) => (float[2,4] a, float[2,4] b) <int64[2] widths = {4,4}> {
          t = Concat <axis = 1> (f, f)
          p, q = Split <axis = 1> (t, widths)
          a = Neg(p)
          b = Abs(q)
        }]],
      "a = Neg(f) b = Abs(f)" },
    { "other widths", [[
        (float[2,4] f) => (float[2,1] a, float[2,3] b, float[2,3] c, float[2,1] d) <int64[4] widths = {1,3,3,1}> {
          t = Concat <axis = 1> (f, f)
          a, b, c, d = Split <axis = 1> (t, widths)
        }]],
      rejected = "the halves have different parts" },
    { "three parts", [[
        (float[2,3] f) => (float[2,2] a, float[2,2] b, float[2,2] c) {
          t = Concat <axis = 1> (f, f)
          a, b, c = Split <axis = 1, num_outputs = 3> (t)
        }]],
      rejected = "the halves have different parts" },
    { "along the other axis", [[
        (float[2,4] f) => (float[1,8] a, float[1,8] b) {
          t = Concat <axis = 1> (f, f)
          a, b = Split <axis = 0, num_outputs = 2> (t)
        }]],
      rejected = "the axis is another one" },
    { "copies of an unknown width", [[
        (float[2,N] f) => (float[2,?] a, float[2,?] b) {
          t = Concat <axis = 1> (f, f)
          a, b = Split <axis = 1, num_outputs = 2> (t)
        }]],
      rejected = "the width of a part is unknown" },
    { "copies of an unknown rank", [[
        (float[] f) => (float[?,?] a, float[?,?] b) {
          t = Concat <axis = 1> (f, f)
          a, b = Split <axis = 1, num_outputs = 2> (t)
        }]],
      rejected = "the rank is unknown" },
  },
}
