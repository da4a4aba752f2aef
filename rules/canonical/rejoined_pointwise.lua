--- Work on elements and rows without cutting an axis into parts first.
local merge = lib "merge"

-- Whether the operand of a Reshape names every size.
local function plain(sizes)
  for _, size in ipairs(sizes:dims() or {0}) do
    if size == -1 or size == 0 then return false end
  end
  return true
end

return rule {
  doc = [[
    join(f(split(x), y))   =>   f(x, join(expand(y)))

    f are sums, choices between x and a number, and softmax on a last axis that is not cut, in any number and order. y is
    there once for several elements: position biases of images, [rows, columns] of queries by those of keys, or masks of
    heads that were stacked as rows. With values as large as x it would be as well the other way round.]],
  phase = "canonical",
  after = "split_sum",

  match = function(op, x, y, c, parts, sizes)
    local split = op.Reshape{x, parts, allowzero = any}:as "split"
    local made = many(function(s)
      c:fits "1"
      return either(op.Add(s, y), op.Where(y, s, c), op.Where(y, c, s), op.Softmax{s, axis = -1}):as "step"
    end, split)
    return op.Reshape{made, sizes, allowzero = any}:as "join"
  end,

  where = function(m)
    local joined, split = m.join.outputs[1], m.split.outputs[1]
    need(m.x:rank() and m.x:rank() == joined:rank(), "the axes end elsewhere", joined)
    local renamed = 0
    for i = 0, joined:rank() - 1 do
      local one, two = m.x:dim(i), joined:dim(i)
      if one ~= two then
        need(type(two) ~= "number", "the axes end elsewhere", joined)
        renamed = renamed + 1
      end
    end
    need(renamed <= 1, "the axes end elsewhere", joined)
    if renamed == 1 then merge.need_elements(m.x) end
    need(#m.step > 0, "nothing is done to the parts", joined)
    for _, step in ipairs(m.step) do
      need(step.outputs[1].shape == split.shape, "a step makes it larger", step)
      need(step.op ~= "Softmax" or split:dim(-1) == m.x:dim(-1), "softmax on an axis that is cut", step)
    end
    for _, y in ipairs(m.y) do need(y.shape ~= split.shape, "it is as large as x", y) end
  end,

  rewrite = function(op, m)
    local parts = plain(m.parts) and m.parts or m.split.outputs[1].shape
    local made, ys, numbers = m.x, 0, 0
    for _, step in ipairs(m.step) do
      if step.op == "Softmax" then
        made = op.Softmax{made, axis = -1}
      else
        ys = ys + 1
        local y = m.join:with(op.Expand(m.y[ys], parts), m.sizes)
        if step.op == "Add" then
          made = op.Add(made, y)
        else
          numbers = numbers + 1
          local hiding = step.inputs[2] == m.c[numbers]
          made = hiding and op.Where(y, m.c[numbers], made) or op.Where(y, made, m.c[numbers])
        end
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
    { "softmax on an axis that is cut", [[
        (float[2,12,6] x) => (float[2,12,6] y) <int64[4] s = {2,12,3,2}, int64[3] t = {2,12,6}> {
          a = Reshape(x, s)
          p = Softmax <axis = -1> (a)
          y = Reshape(p, t)
        }]],
      rejected = "softmax on an axis that is cut" },
    { "a residual", [[
        (float[2,4,8,16] x, float[8,8,16] r) => (float[2,4,8,16] y)
        <int64[3] s = {8,8,16}, int64[4] t = {2,4,8,16}> {
          a = Reshape(x, s)
          b = Add(a, r)
          y = Reshape(b, t)
        }]],
      rejected = "it is as large as x" },
    { "joined into other axes", [[
        (float[3,20,6] x, float[3,4,5,2,1] r) => (float[20,3,6] y)
        <int64[5] s = {3,4,5,2,3}, int64[3] t = {20,3,6}> {
          a = Reshape(x, s)
          b = Add(a, r)
          y = Reshape(b, t)
        }]],
      rejected = "the axes end elsewhere" },
  },
}
