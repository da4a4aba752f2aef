--- Add and remove axes of one place beside other moves, not between them.
local axes = lib "axes"

-- The set of axes that a Squeeze or Unsqueeze names, counted from the front of `rank` axes.
local function named(node, rank)
  local list, out = node.inputs[2] and node.inputs[2]:constant(), {}
  need(list, "the axes are not constant", node)
  for _, axis in ipairs(list) do out[axes.from_front(axis, rank)] = true end
  return out
end

return rule {
  doc = [[
    Transpose(Unsqueeze(x))   =>   Unsqueeze(Transpose(x))
    Reshape(Unsqueeze(x))     =>   Reshape(x)
    Squeeze(Reshape(x))       =>   Reshape(x)

    The form of an Einsum that a converter took apart: it works on all letters of both operands. The Unsqueeze moves
    towards the outputs.]],
  phase = "canonical",

  match = function(op, x)
    local wide = context(op.Unsqueeze(x, any):as "wide")
    return either(
      op.Transpose{wide, attrs = any}:as "turn",
      op.Reshape{wide, any, allowzero = any}:as "view",
      op.Squeeze(op.Reshape{x, any, allowzero = any}:as "shaped", any):as "view")
  end,

  where = function(m)
    local y = (m.turn or m.view).outputs[1]
    need(y:rank(), "the rank is unknown", y)
    if not m.turn then return end
    local new, place, count = named(m.wide, y:rank()), {}, 0
    for axis = 0, y:rank() - 1 do
      if not new[axis] then
        place[axis] = count
        count = count + 1
      end
    end
    m.perm, m.added = {}, {}
    for i, axis in ipairs(need(axes.order(m.turn), "the order of axes is unknown", m.turn)) do
      if new[axis] then m.added[#m.added + 1] = i - 1 else m.perm[#m.perm + 1] = place[axis] end
    end
  end,

  rewrite = function(op, m)
    if m.turn then return op.Unsqueeze(op.Transpose{m.x, perm = m.perm}, m.added) end
    local y, sizes = m.view.outputs[1], {}
    for i = 0, y:rank() - 1 do sizes[i + 1] = y:dim(i) end
    return op.Reshape(m.x, sizes)
  end,

  examples = {
    { "heads with an axis of one place", [[
        (float[2,8,4,16] x) => (float[8,8,16] y) <int64[1] three = {3}, int64[3] s = {8,8,16}> {
          u = Unsqueeze(x, three)
          t = Transpose <perm = [0,2,3,1,4]> (u)
          y = Reshape(t, s)
        }]],
      "t = Transpose <perm = [0,2,1,3]> (x) y = Reshape(t, s)" },
    { "scores of heads", [[
        (float[8,8,6] x) => (float[2,4,8,6] y) <int64[5] s = {2,4,8,6,1}, int64[1] last = {-1}> {
          r = Reshape(x, s)
          y = Squeeze(r, last)
        }]],
      "s4 = Constant <value = int64[4] {2,4,8,6}> () y = Reshape(x, s4)" },
    { "two new axes", [[
        (float[2,3] x) => (float[1,3,1,2] y) <int64[2] a = {0,2}> {
          u = Unsqueeze(x, a)
          y = Transpose <perm = [2,3,0,1]> (u)
        }]],
      "t = Transpose <perm = [1,0]> (x) a2 = Constant <value = int64[2] {0,2}> () y = Unsqueeze(t, a2)" },
  },
}
