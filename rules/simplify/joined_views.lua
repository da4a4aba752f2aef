--- Replace two views by one.
local axes = lib "axes"

-- The axes that a Squeeze or Unsqueeze names, counted from the front of `rank` axes, ascending; or nil.
local function named(node, rank)
  local list, out = node.inputs[2] and node.inputs[2]:constant(), {}
  if not list or not rank then return nil end
  for i, axis in ipairs(list) do out[i] = axes.from_front(axis, rank) end
  table.sort(out)
  return out
end

-- Adds to `outer` the axes of `inner`, which are counted among those that `outer` does not name.
local function both(outer, inner, rank)
  local taken, free, all = {}, {}, {}
  for _, axis in ipairs(outer) do taken[axis] = true end
  for axis = 0, rank - 1 do
    if taken[axis] then all[#all + 1] = axis else free[#free + 1] = axis end
  end
  for _, axis in ipairs(inner) do all[#all + 1] = free[axis + 1] end
  table.sort(all)
  return all
end

local function count(v, size)
  local times = 0
  for _, each in ipairs(v.shape) do
    if each == size then times = times + 1 end
  end
  return times
end

-- Whether a Reshape from x to y moves no axis, but says that sizes of x are equal to others (sized_scores makes such).
local function states_sizes(x, y)
  if x:rank() ~= y:rank() then return false end
  local others = false
  for i, size in ipairs(y.shape) do
    local old = x.shape[i]
    if old ~= size and type(old) == "number" and type(size) == "number" then return false end
    if count(y, size) > count(x, size) then others = true end
  end
  return others
end

-- Whether numbers can say the sizes of a Reshape from x to y: 0 copies those that stay, or -1 is the only other one.
local function has_plain_sizes(x, y)
  local copied, others = 0, 0
  for i, size in ipairs(y.shape) do
    if type(size) ~= "number" then
      if x.shape[i] == size then copied = copied + 1 else others = others + 1 end
    end
  end
  return others == 0 or copied + others == 1
end

return rule {
  doc = [[
    Unsqueeze(Unsqueeze(x))    =>   Unsqueeze(x)      Squeeze likewise
    Reshape(Flatten(x))        =>   Reshape(x)        any two of Reshape, Flatten, Squeeze, Unsqueeze

    Sizes of 0 stay: allowzero is written where a 0 would copy another size. A second Reshape that has
    it keeps its sizes.]],

  match = function(op, x, s, t)
    local function view(y, sizes)
      return either(op.Reshape{y, any, allowzero = any}, op.Flatten{y, axis = any}, op.view(y, maybe(sizes)))
    end
    return view(view(x, s):as "first", t):as "second"
  end,

  where = function(m)
    m.y = m.second.outputs[1]
    need(m.x:rank() and m.y:rank(), "a rank is unknown", m.y)
    need(m.first.op ~= "Reshape" or not states_sizes(m.x, m.first.outputs[1]), "the first one states sizes", m.x)
    local function takes_zero(view) return view.op == "Reshape" and view.attrs.allowzero == 1 end
    m.sized = takes_zero(m.second)
    need(m.sized or not takes_zero(m.first) or has_plain_sizes(m.x, m.y), "new sizes would have to be computed", m.y)
    if m.first.op ~= m.second.op then return end
    local middle = m.first.outputs[1]:rank()
    if m.first.op == "Unsqueeze" then
      local inner, outer = named(m.first, middle), named(m.second, m.y:rank())
      m.added = inner and outer and both(outer, inner, m.y:rank())
    elseif m.first.op == "Squeeze" then
      local inner, outer = named(m.first, m.x:rank()), named(m.second, middle)
      m.removed = inner and outer and both(inner, outer, m.x:rank())
    end
  end,

  rewrite = function(op, m)
    if m.added then return op.Unsqueeze(m.x, m.added) end
    if m.removed then return op.Squeeze(m.x, m.removed) end
    if m.sized then return m.second:with(m.x, m.second.inputs[2]) end
    -- For a known 0; where a size has a name, the engine finds out itself.
    local sizes, zero = {}, nil
    for i, size in ipairs(m.y.shape) do
      sizes[i] = size
      if size == 0 then zero = 1 end
    end
    return op.Reshape{m.x, sizes, allowzero = zero}
  end,

  examples = {
    { "new axes at both ends", [[
        (float[B,S] x) => (float[1,B,S,1] y) <int64[1] last = {-1}, int64[1] first = {0}> {
          a = Unsqueeze(x, last)
          y = Unsqueeze(a, first)
        }]],
      "k = Constant <value = int64[2] {0,3}> () y = Unsqueeze(x, k)" },
    { "a new axis before one that was new", [[
        (float[B,S] x) => (float[B,1,1,S] y) <int64[1] one = {1}> {
          a = Unsqueeze(x, one)
          y = Unsqueeze(a, one)
        }]],
      "k = Constant <value = int64[2] {1,2}> () y = Unsqueeze(x, k)" },
    { "axes that go one after the other", [[
        (float[1,B,1,S] x) => (float[B,S] y) <int64[1] first = {0}, int64[1] one = {1}> {
          a = Squeeze(x, first)
          y = Squeeze(a, one)
        }]],
      "k = Constant <value = int64[2] {0,2}> () y = Squeeze(x, k)" },
    { "a Reshape of a Reshape", [[
        (float[2,3,4] x) => (float[4,6] y) <int64[2] s = {6,4}, int64[2] t = {4,6}> {
          a = Reshape(x, s)
          y = Reshape(a, t)
        }]],
      "y = Reshape(x, t)" },
    { "another reader between", [[
        (float[2,3,4] x) => (float[4,6] y, float[6,4] z) <int64[2] s = {6,4}, int64[2] t = {4,6}> {
          a = Reshape(x, s)
          y = Reshape(a, t)
          z = Neg(a)
        }]],
      "a = Reshape(x, s) y = Reshape(a, t) z = Neg(a)" },
    { "of a rank that is unknown", [[
        (float[] x, int64[?] s) => (float[?,?] y) <int64[1] one = {1}> {
          a = Flatten(x)
          y = Reshape(a, s)
        }]],
      rejected = "a rank is unknown" },
    { "a Reshape of a Flatten", [[
        (float[2,3,4] x) => (float[24] y) <int64[1] t = {24}> {
          a = Flatten <axis = 2> (x)
          y = Reshape(a, t)
        }]],
      "y = Reshape(x, t)" },
    { "Reshapes that would take a 0 as it is", [[
        (float[2,3,4] x) => (float[4,6] y) <int64[2] s = {6,4}, int64[2] t = {4,6}> {
          a = Reshape <allowzero = 1> (x, s)
          y = Reshape <allowzero = 1> (a, t)
        }]],
      "y = Reshape <allowzero = 1> (x, t)" },
    { "sizes of 0", [[
        (float[0,3,4] x) => (float[2,0,0] y) <int64[2] s = {12,0}, int64[3] t = {2,0,0}> {
          a = Reshape <allowzero = 1> (x, s)
          y = Reshape <allowzero = 1> (a, t)
        }]],
      "y = Reshape <allowzero = 1> (x, t)" },
    { "sizes that may be 0", [[
        (float[N,3,4] x) => (float[2,N,6] y) <int64[2] s = {-1,12}, int64[1] two = {2}, int64[1] six = {6}> {
          a = Reshape(x, s)
          n = Shape <end = 1> (x)
          t = Concat <axis = 0> (two, n, six)
          y = Reshape <allowzero = 1> (a, t)
        }]],
      "n = Shape <end = 1> (x) t = Concat <axis = 0> (two, n, six) y = Reshape <allowzero = 1> (x, t)" },
    { "sizes that may be 0, then a new axis", [[
        (float[A,B,3,4] x) => (float[B,A,12,1] y) <int64[1] twelve = {12}, int64[1] last = {-1}> {
          a = Shape <end = 1> (x)
          b = Shape <start = 1, end = 2> (x)
          t = Concat <axis = 0> (b, a, twelve)
          z = Reshape <allowzero = 1> (x, t)
          y = Unsqueeze(z, last)
        }]],
      rejected = "new sizes would have to be computed" },
    { "a size that may be 0, then a new axis", [[
        (float[A,3,4] x) => (float[2,A,6,1] y) <int64[3] t = {2,-1,6}, int64[1] last = {-1}> {
          z = Reshape <allowzero = 1> (x, t)
          y = Unsqueeze(z, last)
        }]],
      "u = Constant <value = int64[4] {2,-1,6,1}> () y = Reshape(x, u)" },
    { "a size of 0 and one that may be 0", [[
        (float[N,3,0] x) => (float[0,N,6] y) <int64[2] s = {12,0}, int64[1] none = {0}, int64[1] six = {6}> {
          a = Reshape <allowzero = 1> (x, s)
          n = Shape <end = 1> (x)
          t = Concat <axis = 0> (none, n, six)
          y = Reshape <allowzero = 1> (a, t)
        }]],
      "n = Shape <end = 1> (x) t = Concat <axis = 0> (none, n, six) y = Reshape <allowzero = 1> (x, t)" },
    { "a Reshape that states a size", [[
        (float[B,4,L,6] x, float[S] s) => (float[B,4,1,S,6] y) <int64[1] four = {4}, int64[1] six = {6},
          int64[1] two = {2}> {
          b = Shape <end = 1> (x)
          n = Shape(s)
          t = Concat <axis = 0> (b, four, n, six)
          a = Reshape <allowzero = 1> (x, t)
          y = Unsqueeze(a, two)
        }]],
      rejected = "the first one states sizes" },
    { "a Reshape that states a number", [[
        (float[1,4,L,6] x) => (float[1,4,1,1,6] y) <int64[4] t = {1,4,1,6}, int64[1] two = {2}> {
          a = Reshape(x, t)
          y = Unsqueeze(a, two)
        }]],
      rejected = "the first one states sizes" },
    { "a Reshape that moves a size", [[
        (float[B,1,64] x) => (float[1,B,8,8] y) <int64[3] s = {1,-1,64}, int64[4] t = {1,-1,8,8}> {
          a = Reshape(x, s)
          y = Reshape(a, t)
        }]],
      "y = Reshape(x, t)" },
    { "a Reshape that takes a number apart", [[
        (float[B,6,4] x) => (float[2,B,3,4] y) <int64[3] s = {-1,3,4}, int64[4] t = {2,-1,3,4}> {
          a = Reshape(x, s)
          y = Reshape(a, t)
        }]],
      "y = Reshape(x, t)" },
  },
}
