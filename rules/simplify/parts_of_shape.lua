--- Take parts of a shape in one step.
return rule {
  doc = [[
    Unsqueeze(Gather(x, i))        =>   Gather(x, {i})          x: of one axis; i: one index
    Reshape(Gather(x, i), {-1})    =>   Gather(x, {i})
    Squeeze(Slice(x, i, i + 1))    =>   Gather(x, i)
    Gather(Shape(x), {i})          =>   Shape(x, i, i + 1)      from opset 15 on
    Slice(Shape(x), i, j)          =>   Shape(x, i, j)          likewise]],

  match = function(op, x, s, i, n, a, t)
    local shape, element = op.Shape{x}, op.Gather{s, i, axis = any}:rank(0)
    return either(
      op.Unsqueeze(element, any):as "list",
      op.Reshape{element, any, allowzero = any}:as "list",
      op.Squeeze(op.Slice(s, i, n, maybe(a), maybe(t)):shape "1", any):as "element",
      op.Gather{shape, i, axis = any}:shape "1":as "part",
      op.Slice(shape, i, n, maybe(a), maybe(t)):as "range")
  end,

  where = function(m)
    m.first = need(m.i:scalar(), "the index is not constant", m.i)
    if m.list then return end
    need(not m.t or m.t:among(1), "the steps are not 1", m.t)
    if m.range then
      m.last = need(m.n:scalar(), "the end is not constant", m.n)
      if m.last >= 2 ^ 31 then m.last = nil end
    elseif m.element then
      -- A list with a part of one number has a last number.
      if m.first < -1 then
        local size = m.s:dim(0)
        need(type(size) == "number", "the size of the list is not a number", m.s)
        need(m.first >= -size, "the index may be out of range", m.s)
      end
    else
      if m.first < 0 then m.first = m.first + need(m.x:rank(), "the rank is unknown", m.x) end
      m.last = m.first + 1
    end
  end,

  rewrite = function(op, m)
    if m.list then return op.Gather{m.s, { m.first }, axis = 0} end
    if m.element then return op.Gather{m.s, m.first, axis = 0} end
    return op.Shape{m.x, start = m.first, ["end"] = m.last}
  end,

  examples = {
    { "one size as a list", [[
        (float[A,B,C] x) => (int64[1] y) <int64 i = {-2}, int64[1] axis = {0}> {
          s = Shape(x)
          n = Gather(s, i)
          y = Unsqueeze(n, axis)
        }]],
      "y = Shape <start = 1, end = 2> (x)" },
    { "one number as a list", [[
        (int64[4] s) => (int64[1] y) <int64 i = {2}, int64[1] flat = {-1}> {
          n = Gather(s, i)
          y = Reshape(n, flat)
        }]],
      "k = Constant <value = int64[1] {2}> () y = Gather(s, k)" },
    { "a column of a matrix", [[
        (int64[4,4] s) => (int64[1,4] y) <int64 i = {2}, int64[1] axis = {0}> {
          n = Gather <axis = 1> (s, i)
          y = Unsqueeze(n, axis)
        }]],
      "n = Gather <axis = 1> (s, i) y = Unsqueeze(n, axis)" },
    { "one of a list", [[
        (int64[4] s) => (int64 y) <int64[1] i = {1}, int64[1] j = {2}, int64[1] axis = {0}> {
          n = Slice(s, i, j)
          y = Squeeze(n, axis)
        }]],
      "k = Constant <value = int64 {1}> () y = Gather(s, k)" },
    { "one from before a list", [[
        (int64[4] s) => (int64 y) <int64[1] i = {-9}, int64[1] j = {1}, int64[1] axis = {0}> {
          n = Slice(s, i, j)
          y = Squeeze(n, axis)
        }]],
      rejected = "the index may be out of range" },
    { "the last of a list whose size has a name", [[
        (int64[N] r, int64[2] t) => (int64 y) <int64[1] i = {-1}, int64[1] j = {9223372036854775807},
          int64[1] axis = {0}> {
          s = Concat <axis = 0> (r, t)
          n = Slice(s, i, j)
          y = Squeeze(n, axis)
        }]],
      "s = Concat <axis = 0> (r, t) k = Constant <value = int64 {-1}> () y = Gather(s, k)" },
    { "the last but one of a list whose size has a name", [[
        (int64[N] r, int64[2] t) => (int64 y) <int64[1] i = {-2}, int64[1] j = {-1}, int64[1] axis = {0}> {
          s = Concat <axis = 0> (r, t)
          n = Slice(s, i, j)
          y = Squeeze(n, axis)
        }]],
      rejected = "the size of the list is not a number" },
    { "to the end of a shape", [[
        (float[A,B,C] x) => (int64[2] y) <int64[1] i = {1}, int64[1] j = {9223372036854775807}, int64[1] axis = {0}> {
          s = Shape(x)
          y = Slice(s, i, j, axis)
        }]],
      "y = Shape <start = 1> (x)" },
    { "some sizes", [[
        (float[A,B,C,D] x) => (int64[2] y) <int64[1] i = {1}, int64[1] j = {-1}, int64[1] axis = {0}> {
          s = Shape(x)
          y = Slice(s, i, j, axis)
        }]],
      "y = Shape <start = 1, end = -1> (x)" },
    { "one size as a number", [[
        (float[A,B,C] x) => (int64 y) <int64 i = {0}> {
          s = Shape(x)
          y = Gather(s, i)
        }]],
      "s = Shape(x) y = Gather(s, i)" },
    { "before opset 15", [[
        <ir_version: 8, opset_import: ["": 13]>
        g (float[A,B,C] x) => (int64[1] y) <int64 i = {0}, int64[1] axis = {0}> {
          s = Shape(x)
          n = Gather(s, i)
          y = Unsqueeze(n, axis)
        }]],
      "s = Shape(x) k = Constant <value = int64[1] {0}> () y = Gather(s, k)" },
    { "every second size", [[
        (float[A,B,C,D] x) => (int64[2] y)
          <int64[1] i = {0}, int64[1] j = {4}, int64[1] axis = {0}, int64[1] two = {2}> {
          s = Shape(x)
          y = Slice(s, i, j, axis, two)
        }]],
      rejected = "the steps are not 1" },
    { "of a value of unknown rank", [[
        (float[] x) => (int64[1] y) <int64[1] i = {-1}> {
          s = Shape(x)
          y = Gather(s, i)
        }]],
      rejected = "the rank is unknown" },
    { "a computed index", [[
        (float[A,B,C] x, int64[1] i) => (int64[1] y) {
          s = Shape(x)
          y = Gather(s, i)
        }]],
      rejected = "the index is not constant" },
    { "a computed end", [[
        (float[A,B,C] x, int64[1] j) => (int64[?] y) <int64[1] i = {0}> {
          s = Shape(x)
          y = Slice(s, i, j)
        }]],
      rejected = "the end is not constant" },
  },
}
