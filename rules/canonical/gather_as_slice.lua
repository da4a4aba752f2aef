--- Write a Gather of evenly spaced places as a Slice.
return rule {
  doc = [[ Gather(x, {a, a + s, ..., b}, axis)   =>   Slice(x, a, b + 1, axis, s)   for s > 0 ]],
  phase = "canonical",

  match = function(op, x, places, axis)
    places:const "_"
    return op.Gather{x, places, axis = axis}
  end,

  where = function(m)
    local list = need(m.places:constant(), "the places are too many", m.places)
    need(#list > 0, "there is no place", m.places)
    for i, place in ipairs(list) do
      local size = place >= 0 and 0 or m.x:dim(m.axis)
      need(type(size) == "number", "a place is counted from an unknown end", m.x)
      list[i] = place + size
    end
    m.start, m.stop, m.step = list[1], list[#list] + 1, list[2] and list[2] - list[1] or 1
    need(m.step > 0, "the places go backwards", m.places)
    for i, place in ipairs(list) do
      need(place == m.start + (i - 1) * m.step, "the places are not evenly spaced", m.places)
    end
  end,

  rewrite = function(op, m)
    return op.Slice(m.x, {m.start}, {m.stop}, {m.axis}, m.step ~= 1 and {m.step} or nil)
  end,

  examples = {
    { "every second column", [[
        (float[2,6] x) => (float[2,3] y) <int64[3] odd = {1,3,5}> {
          y = Gather <axis = 1> (x, odd)
        }]],
      [[first = Constant <value = int64[1] {1}> ()
        stop = Constant <value = int64[1] {6}> ()
        axis = Constant <value = int64[1] {1}> ()
        step = Constant <value = int64[1] {2}> ()
        y = Slice(x, first, stop, axis, step)]] },
    { "the last two", [[
        (float[2,6] x) => (float[2,2] y) <int64[2] last = {-2,-1}> { y = Gather <axis = -1> (x, last) }]],
      [[first = Constant <value = int64[1] {4}> ()
        stop = Constant <value = int64[1] {6}> ()
        axis = Constant <value = int64[1] {-1}> ()
        y = Slice(x, first, stop, axis)]] },
    { "the last two of an unknown number", [[
        (float[2,N] x) => (float[2,2] y) <int64[2] last = {-2,-1}> { y = Gather <axis = -1> (x, last) }]],
      rejected = "a place is counted from an unknown end" },
    { "one, its axis kept", [[
        (float[2,6] x) => (float[1,6] y) <int64[1] second = {1}> { y = Gather(x, second) }]],
      [[first = Constant <value = int64[1] {1}> ()
        stop = Constant <value = int64[1] {2}> ()
        axis = Constant <value = int64[1] {0}> ()
        y = Slice(x, first, stop, axis)]] },
    { "unevenly spaced", [[
        (float[2,6] x) => (float[2,3] y) <int64[3] some = {0,1,3}> { y = Gather <axis = 1> (x, some) }]],
      rejected = "the places are not evenly spaced" },
    { "backwards", [[
        (float[2,6] x) => (float[2,2] y) <int64[2] some = {3,2}> { y = Gather <axis = 1> (x, some) }]],
      rejected = "the places go backwards" },
    { "none", [[
        (float[2,6] x) => (float[2,0] y) <int64[0] none = {}> { y = Gather <axis = 1> (x, none) }]],
      rejected = "there is no place" },
  },
}
