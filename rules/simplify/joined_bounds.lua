--- Replace two bounds by one.
return rule {
  doc = [[
    Clip(Clip(x, a, b), c, d)   =>   Clip(x, max(a, c), min(b, d))     Relu(x) is Clip(x, 0)
    Max(Min(x, b), c)           =>   Clip(x, c, b)                     Min(Max(x, a), d) likewise

    All bounds are numbers, and the lower ones are no higher than the upper ones.]],

  match = function(op, x, a, b, c, d)
    local inner = either(op.Relu(x):as "first", op.Clip(x, maybe(a), maybe(b)))
    return either(
      op.Relu(inner):as "last",
      op.Clip(inner, maybe(c), maybe(d)),
      op.Max(op.Min(x, b), c),
      op.Min(op.Max(x, a), d))
  end,

  where = function(m)
    local function bound(v) return v and need(v:scalar(), "a bound is not a number", v) end
    local function tighter(choose, p, q) return p and q and choose(p, q) or p or q end
    local relu = m.first or m.last
    m.low = tighter(math.max, bound(m.a) or m.first and 0, bound(m.c) or m.last and 0)
    m.high = tighter(math.min, bound(m.b), bound(m.d))
    if m.low and m.high then need(m.low <= m.high, "a lower bound is higher than an upper one", m.x) end
    m.bounded = not (relu and m.low == 0 and not m.high)
  end,

  rewrite = function(op, m) return m.bounded and op.Clip(m.x, m.low, m.high) or op.Relu(m.x) end,

  examples = {
    { "Relu6", [[
        (float[2,3] x) => (float[2,3] y) <float zero = {0.0}, float six = {6.0}> {
          a = Relu(x)
          y = Clip(a, zero, six)
        }]],
      "l = Constant <value = float {0.0}> () h = Constant <value = float {6.0}> () y = Clip(x, l, h)" },
    { "twice", [[
        (float[2,3] x) => (float[2,3] y) {
          a = Relu(x)
          y = Relu(a)
        }]],
      "y = Relu(x)" },
    { "an upper bound, then a Relu", [[
        (float[2,3] x) => (float[2,3] y) <float six = {6.0}> {
          a = Clip(x, , six)
          y = Relu(a)
        }]],
      "l = Constant <value = float {0.0}> () h = Constant <value = float {6.0}> () y = Clip(x, l, h)" },
    { "bounds inside of bounds", [[
        (float[2,3] x) => (float[2,3] y) <float a = {-1.0}, float b = {2.0}, float c = {-3.0}, float d = {1.0}> {
          e = Clip(x, a, b)
          y = Clip(e, c, d)
        }]],
      "l = Constant <value = float {-1.0}> () h = Constant <value = float {1.0}> () y = Clip(x, l, h)" },
    { "Max of Min", [[
        (float[2,3] x) => (float[2,3] y) <float low = {-1.0}, float high = {1.0}> {
          a = Min(x, high)
          y = Max(low, a)
        }]],
      "l = Constant <value = float {-1.0}> () h = Constant <value = float {1.0}> () y = Clip(x, l, h)" },
    { "Min of Max", [[
        (float[2,3] x) => (float[2,3] y) <float low = {-1.0}, float high = {1.0}> {
          a = Max(x, low)
          y = Min(a, high)
        }]],
      "l = Constant <value = float {-1.0}> () h = Constant <value = float {1.0}> () y = Clip(x, l, h)" },
    { "Min of Max, and nothing between", [[
        (float[2,3] x) => (float[2,3] y) <float low = {1.0}, float high = {-1.0}> {
          a = Max(x, low)
          y = Min(a, high)
        }]],
      rejected = "a lower bound is higher than an upper one" },
    { "a computed bound", [[
        (float[2,3] x, float h) => (float[2,3] y) {
          a = Relu(x)
          y = Clip(a, , h)
        }]],
      rejected = "a bound is not a number" },
  },
}
