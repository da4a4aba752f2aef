--- Replace two bounds by one.
return rule {
  doc = [[
    Clip(Clip(x, a, b), c, d)   =>   Clip(x, max(a, c), min(b, d))

    Each Clip may be Relu(x), which is Clip(x, 0), or Max or Min with a number. All bounds are numbers, and the lower
    ones are no higher than the upper ones.]],

  match = function(op, x, a, b, c, d)
    local function bounded(y, low, high, relu)
      low:const(); high:const()
      return either(op.Relu(y):as(relu), op.Clip(y, maybe(low), maybe(high)), op.Max(y, low), op.Min(y, high))
    end
    return bounded(bounded(x, a, b, "first"), c, d, "last")
  end,

  where = function(m)
    local function bound(v)
      local number = v and v:scalar()
      if v then need(number and number == number, "a bound is not a number", v) end
      return number
    end
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
      "a = Relu(x) y = Clip(a, , h)" },
    { "Max of Min, each with its number first", [[
        (float[2,3] x) => (float[2,3] y) <float low = {-1.0}, float high = {1.0}> {
          a = Min(high, x)
          y = Max(low, a)
        }]],
      "l = Constant <value = float {-1.0}> () h = Constant <value = float {1.0}> () y = Clip(x, l, h)" },
    { "Min of Max, each with its number first", [[
        (float[2,3] x) => (float[2,3] y) <float low = {-1.0}, float high = {1.0}> {
          a = Max(low, x)
          y = Min(high, a)
        }]],
      "l = Constant <value = float {-1.0}> () h = Constant <value = float {1.0}> () y = Clip(x, l, h)" },
    { "Min of Relu", [[
        (float[2,3] x) => (float[2,3] y) <float six = {6.0}> {
          a = Relu(x)
          y = Min(a, six)
        }]],
      "l = Constant <value = float {0.0}> () h = Constant <value = float {6.0}> () y = Clip(x, l, h)" },
    { "Relu of Min", [[
        (float[2,3] x) => (float[2,3] y) <float six = {6.0}> {
          a = Min(six, x)
          y = Relu(a)
        }]],
      "l = Constant <value = float {0.0}> () h = Constant <value = float {6.0}> () y = Clip(x, l, h)" },
    { "Min of Clip", [[
        (float[2,3] x) => (float[2,3] y) <float zero = {0.0}, float six = {6.0}, float two = {2.0}> {
          a = Clip(x, zero, six)
          y = Min(two, a)
        }]],
      "l = Constant <value = float {0.0}> () h = Constant <value = float {2.0}> () y = Clip(x, l, h)" },
    { "Clip of Max", [[
        (float[2,3] x) => (float[2,3] y) <float zero = {0.0}, float six = {6.0}, float two = {2.0}> {
          a = Max(x, two)
          y = Clip(a, zero, six)
        }]],
      "l = Constant <value = float {2.0}> () h = Constant <value = float {6.0}> () y = Clip(x, l, h)" },
    { "Max of Relu", [[
        (float[2,3] x) => (float[2,3] y) <float low = {-1.0}> {
          a = Relu(x)
          y = Max(low, a)
        }]],
      "y = Relu(x)" },
    { "Max of Max", [[
        (float[2,3] x) => (float[2,3] y) <float one = {1.0}, float two = {2.0}> {
          a = Max(x, one)
          y = Max(two, a)
        }]],
      "l = Constant <value = float {2.0}> () y = Clip(x, l)" },
    { "Max of Min, and nothing between", [[
        (float[2,3] x) => (float[2,3] y) <float low = {1.0}, float high = {-1.0}> {
          a = Min(x, high)
          y = Max(a, low)
        }]],
      rejected = "a lower bound is higher than an upper one" },
    { "Relu of a Clip with nothing between", [[
        (float[2,3] x) => (float[2,3] y) <float low = {3.0}, float high = {1.0}> {
          a = Clip(x, low, high)
          y = Relu(a)
        }]],
      rejected = "a lower bound is higher than an upper one" },
    { "a bound of a row", [[
        (float[2,3] x) => (float[2,3] y) <float[3] high = {1.0, 2.0, 3.0}> {
          a = Relu(x)
          y = Min(a, high)
        }]],
      rejected = "a bound is not a number" },
    { "a bound that is no number", [[
        (float[2,3] x) => (float[2,3] y) <float zero = {0.0}> {
          n = Div(zero, zero)
          a = Relu(x)
          y = Max(a, n)
        }]],
      rejected = "a bound is not a number" },
    { "two values", [[
        (float[2,3] x, float[2,3] z) => (float[2,3] y) {
          a = Relu(x)
          y = Min(a, z)
        }]],
      "a = Relu(x) y = Min(a, z)" },
  },
}
