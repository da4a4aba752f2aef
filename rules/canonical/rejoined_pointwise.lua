--- Compute on elements and rows without splitting an axis first.
local merge = lib "merge"

-- Whether the second operand of a Reshape gives every size.
local function plain(sizes)
  for _, size in ipairs(sizes:dims() or {0}) do
    if size == -1 or size == 0 then return false end
  end
  return true
end

-- Whether the size can be an operand of a Reshape or an Expand.
local function known(size) return type(size) == "number" or not size.unknown end

-- How many axes a and b have in common, from the front or from the back, at most `most`.
local function in_common(a, b, from_back, most)
  local count = 0
  while count < most do
    local axis = from_back and -1 - count or count
    if a:dim(axis) ~= b:dim(axis) then break end
    count = count + 1
  end
  return count
end

-- y for the unsplit x: expanded to full size on the axes that are joined, unchanged on the others.
local function rejoined(op, m, y)
  local parts, rank, more = m.split.outputs[1], m.x:rank(), m.split.outputs[1]:rank() - m.x:rank()
  local sizes, joined, smaller, sized = {}, {}, false, true
  for axis = 0, rank + more - 1 do
    if axis < m.front or axis >= rank + more - m.back then
      local from = axis - parts:rank() + y:rank()
      local own = from < 0 and 1 or y:dim(from)
      sizes[axis + 1], joined[axis < m.front and axis + 1 or axis - more + 1] = 1, own
      smaller = smaller or own ~= parts:dim(axis)
    else
      sizes[axis + 1] = parts:dim(axis)
      sized = sized and known(parts:dim(axis))
    end
  end
  for axis = m.front, rank - m.back - 1 do
    joined[axis + 1] = m.x:dim(axis)
    sized = sized and known(m.x:dim(axis))
  end
  if smaller and sized then return op.Reshape(op.Expand(y, sizes), joined) end
  return m.join:with(op.Expand(y, plain(m.parts) and m.parts or parts.shape), m.sizes)
end

return rule {
  doc = [[
    join(f(split(x), y))   =>   f(x, join(expand(y)))

    f are sums, choices between x and a number, and softmax on a last axis that is not split, in any number and order. y
    is broadcast: a mask for each window, the same for each image; position biases of images, [rows, columns] of queries
    by those of keys; masks of heads that were stacked as rows. It is expanded only on axes that are joined. With a y as
    large as x the rule has no use.]],
  phase = "canonical",

  match = function(op, x, y, c, parts, sizes)
    local split = op.Reshape{x, parts, allowzero = any}:as "split"
    local made = many(function(s)
      c:fits "1"
      return either(op.Add(s, y), op.Where(y, s, c), op.Where(y, c, s):as "hiding", op.Softmax{s, axis = -1}):as "step"
    end, split):as "steps"
    return op.Reshape{made, sizes, allowzero = any}:as "join"
  end,

  where = function(m)
    local joined, split = m.join.outputs[1], m.split.outputs[1]
    need(m.x:rank() and m.x:rank() == joined:rank(), "the axes are joined differently", joined)
    local renamed = 0
    for i = 0, joined:rank() - 1 do
      local one, two = m.x:dim(i), joined:dim(i)
      if one ~= two then
        need(type(two) ~= "number", "the axes are joined differently", joined)
        renamed = renamed + 1
      end
    end
    need(renamed <= 1, "the axes are joined differently", joined)
    merge.need_elements(m.x)
    need(#m.steps > 0, "there is no op on the parts", joined)
    for _, found in ipairs(m.steps) do
      local step, y = found.step, found.y
      need(step.outputs[1].shape == split.shape, "an op broadcasts x to a larger shape", step)
      need(y or split:dim(-1) == m.x:dim(-1), "softmax on an axis that is split", step)
      need(not y or y:rank(), "the rank is unknown", y)
      need(not y or y.shape ~= split.shape, "the operand is as large as x", y)
    end
    local most = math.min(m.x:rank(), split:rank())
    m.front = in_common(m.x, split, false, most)
    m.back = in_common(m.x, split, true, most - m.front)
  end,

  rewrite = function(op, m)
    local made = m.x
    for _, found in ipairs(m.steps) do
      local y, c = found.y and rejoined(op, m, found.y), found.c
      if not y then
        made = op.Softmax{made, axis = -1}
      elseif not c then
        made = op.Add(made, y)
      else
        made = found.hiding and op.Where(y, c, made) or op.Where(y, made, c)
      end
    end
    return made
  end,

  examples = {
    { "rows and columns of keys", [[
        (float[3,20,6] x, float[3,4,5,2,1] r, float[3,4,5,1,3] c) => (float[3,20,6] y)
        <int64[5] s = {3,4,5,2,3}, int64[3] t = {3,20,6}> {
          a = Reshape(x, s)
          b = Add(a, r)
          d = Add(b, c)
          y = Reshape(d, t)
        }]],
      [[w = Constant <value = int64[5] {3,4,5,2,3}> ()
        j = Constant <value = int64[3] {3,20,6}> ()
        re = Expand(r, w)
        rj = Reshape(re, j)
        b = Add(x, rj)
        ce = Expand(c, w)
        cj = Reshape(ce, j)
        y = Add(b, cj)]] },
    { "a mask of heads that were stacked as rows, and their softmax", [[
        (float[2,12,5] x, bool[2,3,1,5] m) => (float[2,12,5] y)
        <int64[4] s = {2,3,4,5}, int64[3] t = {2,12,5}, float c = {-1.0}> {
          a = Reshape(x, s)
          b = Where(m, c, a)
          p = Softmax <axis = -1> (b)
          y = Reshape(p, t)
        }]],
      [[w = Constant <value = int64[4] {2,3,4,5}> ()
        j = Constant <value = int64[3] {2,12,5}> ()
        me = Expand(m, w)
        mj = Reshape(me, j)
        b = Where(mj, c, x)
        y = Softmax <axis = -1> (b)]] },
    { "a mask for each of two windows", [[
        (float[6,4,8,8] x, float[1,2,1,8,8] m) => (float[6,4,8,8] y)
        <int64[5] s = {3,2,4,8,8}, int64[4] t = {6,4,8,8}> {
          a = Reshape(x, s)
          b = Add(a, m)
          y = Reshape(b, t)
        }]],
      [[w = Constant <value = int64[5] {3,2,1,1,1}> ()
        e = Expand(m, w)
        r = Constant <value = int64[4] {6,1,8,8}> ()
        f = Reshape(e, r)
        y = Add(x, f)]] },
    { "softmax on an axis that is split", [[
        (float[2,12,6] x) => (float[2,12,6] y) <int64[4] s = {2,12,3,2}, int64[3] t = {2,12,6}> {
          a = Reshape(x, s)
          p = Softmax <axis = -1> (a)
          y = Reshape(p, t)
        }]],
      rejected = "softmax on an axis that is split" },
    { "a residual", [[
        (float[2,4,8,16] x, float[8,8,16] r) => (float[2,4,8,16] y)
        <int64[3] s = {8,8,16}, int64[4] t = {2,4,8,16}> {
          a = Reshape(x, s)
          b = Add(a, r)
          y = Reshape(b, t)
        }]],
      rejected = "the operand is as large as x" },
    { "joined into other axes", [[
        (float[3,20,6] x, float[3,4,5,2,1] r) => (float[20,3,6] y)
        <int64[5] s = {3,4,5,2,3}, int64[3] t = {20,3,6}> {
          a = Reshape(x, s)
          b = Add(a, r)
          y = Reshape(b, t)
        }]],
      rejected = "the axes are joined differently" },
  },
}
