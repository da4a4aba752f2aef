--- Replace two Slices of different axes by one.
local axes = lib "axes"

return rule {
  doc = [[ Slice(Slice(x))   =>   Slice(x)   if they cut different axes ]],

  match = function(op, x, a, s, b, t)
    return op.Slice(op.Slice(x, any, any, maybe(a), maybe(s)):as "first", any, any, maybe(b), maybe(t)):as "second"
  end,

  where = function(m)
    local rank = need(m.x:rank(), "the rank is unknown", m.x)
    m.all = need(axes.limits(m.first, rank), "a limit is not constant", m.first)
    local more = need(axes.limits(m.second, rank), "a limit is not constant", m.second)
    local cut = {}
    for _, axis in ipairs(m.all[3]) do cut[axis] = true end
    for _, axis in ipairs(more[3]) do need(not cut[axis], "both cut one axis", m.x) end
    for i, list in ipairs(more) do
      for _, number in ipairs(list) do m.all[i][#m.all[i] + 1] = number end
    end
  end,

  rewrite = function(op, m) return op.Slice(m.x, m.all[1], m.all[2], m.all[3], m.all[4]) end,

  examples = {
    { "every second row and column", [[
        (float[B,8,6] x) => (float[B,4,3] y) <int64[1] none = {0}, int64[1] end = {9223372036854775807},
          int64[1] rows = {1}, int64[1] columns = {-1}, int64[1] two = {2}> {
          a = Slice(x, none, end, rows, two)
          y = Slice(a, none, end, columns, two)
        }]],
      [[s = Constant <value = int64[2] {0,0}> ()
        e = Constant <value = int64[2] {9223372036854775807,9223372036854775807}> ()
        a = Constant <value = int64[2] {1,2}> ()
        t = Constant <value = int64[2] {2,2}> ()
        y = Slice(x, s, e, a, t)]] },
    { "one axis twice", [[
        (float[8] x) => (float[2] y) <int64[1] one = {1}, int64[1] five = {5}, int64[1] three = {3}> {
          a = Slice(x, one, five)
          y = Slice(a, one, three)
        }]],
      rejected = "both cut one axis" },
    { "a computed end", [[
        (float[8,8] x, int64[1] n) => (float[?,2] y) <int64[1] one = {1}, int64[1] three = {3}, int64[1] none = {0}> {
          a = Slice(x, one, n, none)
          y = Slice(a, one, three, one)
        }]],
      rejected = "a limit is not constant" },
    { "a computed end of the second", [[
        (float[8,8] x, int64[1] n) => (float[?,2] y) <int64[1] one = {1}, int64[1] three = {3}, int64[1] none = {0}> {
          a = Slice(x, one, three, one)
          y = Slice(a, one, n, none)
        }]],
      rejected = "a limit is not constant" },
  },
}
