--- Replace Slices that take all parts of a value by one Split.
local axes = lib "axes"

local VIEWS = { Reshape = true, Squeeze = true, Transpose = true, Unsqueeze = true }

return rule {
  doc = [[
    Slice(x, 0, a), Slice(x, a, b), ..., Slice(x, z, size of x)   =>   Split(x, {a, b - a, ..., size of x - z})

    Not if x, or what it is a view of, was quantized. ONNX Runtime computes a Slice between DequantizeLinear and
    QuantizeLinear on integers; behind a Split it would no longer make a QLinearConcat of the parts.]],

  match = function(op, x, along, steps)
    return op.Slice(x, any, any, maybe(along), maybe(steps)):as "slice"
  end,

  where = function(m)
    local from = m.x.producer
    while from and VIEWS[from.op] do from = from.inputs[1].producer end
    need(not (from and from.op == "DequantizeLinear"), "runtimes take quantized parts one by one", m.x)
    need(not m.x:const(), "the parts are constants", m.x)
    local rank = need(m.x:rank(), "the rank is unknown", m.x)
    local limits = need(axes.limits(m.slice, rank), "a limit is not constant", m.slice)
    need(#limits[1] == 1 and limits[4][1] == 1, "it does not take neighbours along one axis", m.slice)
    m.axis = limits[3][1]
    m.size = m.x:dim(m.axis)
    need(type(m.size) == "number", "the size is not a number", m.x)
    local function within(limit) return math.max(0, math.min(m.size, limit < 0 and limit + m.size or limit)) end
    m.first, m.last = within(limits[1][1]), within(limits[2][1])
  end,

  together = function(m) return m.x, m.axis end,

  rewrite = function(op, ms)
    local order, sizes, place, reached = {}, {}, {}, 0
    for i in ipairs(ms) do order[i] = i end
    table.sort(order, function(a, b) return ms[a].first < ms[b].first end)
    for i, k in ipairs(order) do
      need(ms[k].first == reached and ms[k].last > reached, "the parts do not follow each other", ms[k].slice)
      reached, sizes[i], place[k] = ms[k].last, ms[k].last - ms[k].first, i
    end
    need(reached == ms[1].size, "a part is not taken", ms[1].x)
    local parts, out = {op.Split{ms[1].x, sizes, axis = ms[1].axis, outputs = #ms}}, {}
    for k, i in ipairs(place) do out[k] = parts[i] end
    return out
  end,

  examples = {
    { "three parts in another order", [[
        (float[B,6] x) => (float[B,3] a, float[B,2] b, float[B,1] c) <int64[1] none = {0}, int64[1] one = {1},
          int64[1] three = {3}, int64[1] last = {-3}, int64[1] all = {9223372036854775807}> {
          b = Slice(x, one, three, one)
          a = Slice(x, last, all, one)
          c = Slice(x, none, one, one)
        }]],
      [[s = Constant <value = int64[3] {1,2,3}> ()
        c, b, a = Split <axis = 1> (x, s)]] },
    { "a part is missing", [[
        (float[6] x) => (float[1] a, float[2] b) <int64[1] none = {0}, int64[1] one = {1}, int64[1] three = {3}> {
          a = Slice(x, none, one)
          b = Slice(x, one, three)
        }]],
      rejected = "a part is not taken" },
    { "parts that overlap", [[
        (float[6] x) => (float[3] a, float[5] b) <int64[1] none = {0}, int64[1] one = {1}, int64[1] three = {3},
          int64[1] all = {6}> {
          a = Slice(x, none, three)
          b = Slice(x, one, all)
        }]],
      rejected = "the parts do not follow each other" },
    { "quantized parts", [[
        (int8[6] x, float c) => (float[1] a, float[5] b) <int64[1] none = {0}, int64[1] one = {1}, int64[1] all = {6}> {
          d = DequantizeLinear(x, c)
          a = Slice(d, none, one)
          b = Slice(d, one, all)
        }]],
      rejected = "runtimes take quantized parts one by one" },
    { "parts of a view of what was quantized", [[
        (int8[6,2] x, float c) => (float[2,1] a, float[2,5] b) <int64[1] none = {0}, int64[1] one = {1},
          int64[1] all = {6}> {
          d = DequantizeLinear(x, c)
          t = Transpose <perm = [1,0]> (d)
          a = Slice(t, none, one, one)
          b = Slice(t, one, all, one)
        }]],
      rejected = "runtimes take quantized parts one by one" },
    { "parts of a view", [[
        (float[6,2] x) => (float[2,1] a, float[2,5] b) <int64[1] none = {0}, int64[1] one = {1}, int64[1] all = {6}> {
          t = Transpose <perm = [1,0]> (x)
          a = Slice(t, none, one, one)
          b = Slice(t, one, all, one)
        }]],
      [[t = Transpose <perm = [1,0]> (x)
        s = Constant <value = int64[2] {1,5}> ()
        a, b = Split <axis = 1> (t, s)]] },
    { "every second one", [[
        (float[6] x) => (float[3] a, float[3] b) <int64[1] none = {0}, int64[1] one = {1}, int64[1] all = {6},
          int64[1] two = {2}> {
          a = Slice(x, none, all, none, two)
          b = Slice(x, one, all, none, two)
        }]],
      rejected = "it does not take neighbours along one axis" },
    { "of a size without a number", [[
        (float[N] x) => (float[?] a, float[?] b) <int64[1] none = {0}, int64[1] one = {1}, int64[1] all = {-1}> {
          a = Slice(x, none, one)
          b = Slice(x, one, all)
        }]],
      rejected = "the size is not a number" },
    { "at a computed place", [[
        (float[6] x, int64[1] n) => (float[?] a, float[?] b) <int64[1] none = {0}, int64[1] all = {6}> {
          a = Slice(x, none, n)
          b = Slice(x, n, all)
        }]],
      rejected = "a limit is not constant" },
    { "of an unknown rank", [[
        (float[] x) => (float[] a, float[] b) <int64[1] none = {0}, int64[1] one = {1}, int64[1] all = {6}> {
          a = Slice(x, none, one)
          b = Slice(x, one, all)
        }]],
      rejected = "the rank is unknown" },
    { "an empty part", [[
        (float[6] x) => (float[0] a, float[6] b) <int64[1] none = {0}, int64[1] all = {6}> {
          a = Slice(x, none, none)
          b = Slice(x, none, all)
        }]],
      rejected = "the parts do not follow each other" },
    { "along two axes", [[
        (float[6,2] x) => (float[1,2] a, float[5,2] b) <int64[2] none = {0,0}, int64[2] one = {1,2},
          int64[2] from = {1,0}, int64[2] all = {6,2}, int64[2] axes = {0,1}> {
          a = Slice(x, none, one, axes)
          b = Slice(x, from, all, axes)
        }]],
      rejected = "it does not take neighbours along one axis" },
    { "parts of a constant", [[
        () => (float[1] a, float[5] b) <float[6] x = {1,2,3,4,5,6}, int64[1] none = {0}, int64[1] one = {1},
          int64[1] all = {6}> {
          a = Slice(x, none, one)
          b = Slice(x, one, all)
        }]],
      rejected = "the parts are constants" },
  },
}
