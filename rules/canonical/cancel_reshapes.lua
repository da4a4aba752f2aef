--- Remove a Reshape that restores the shape before another Reshape.
return rule {
  doc = [[
    Reshape(Reshape(x, _), shape of x)   =>   x

    One axis of x may have an unknown size: the number of elements determines it, if the other sizes are numbers. If
    that axis has another name after the Reshape, the Reshape states that both sizes are equal, so it stays.]],
  phase = "canonical",

  match = function(op, x)
    return op.Reshape{context(op.Reshape{x, any, allowzero = any}), any, allowzero = any}:as "back"
  end,

  where = function(m)
    local y, unknown, sized = m.back.outputs[1], 0, true
    need(m.x:rank() and m.x:rank() == y:rank(), "the shape is different", y)
    for i = 0, m.x:rank() - 1 do
      local one, two = m.x:dim(i), y:dim(i)
      if one == two then
        sized = sized and type(one) == "number" and one > 0
      else
        need(type(one) ~= "number" and one.unknown, "the shape is different", y)
        unknown = unknown + 1
      end
    end
    need(unknown <= 1, "the shape is different", y)
    if unknown == 1 then need(sized, "there may be no elements to determine the size", m.x) end
  end,

  rewrite = function(op, m) return m.x end,

  examples = {
    { "there and back", [[
        (float[2,3,4] x) => (float[2,3,4] y) <int64[1] flat = {-1}, int64[3] s = {2,3,4}> {
          a = Reshape(x, flat)
          b = Reshape(a, s)
          y = Neg(b)
        }]],
      "y = Neg(x)" },
    { "an axis of unknown size", [[
        (float[2,4,S] x, float[2,1,T] m, float[2,4,T] z) => (float[2,4,T] y) <int64[2] flat = {-1,4}> {
          w = Add(x, m)
          a = Reshape(w, flat)
          s = Shape(z)
          b = Reshape(a, s)
          y = Neg(b)
        }]],
      "w = Add(x, m) y = Neg(w)" },
    { "an axis of unknown size beside one that may be 0", [[
        (float[B,4,S] x, float[B,1,T] m, float[B,4,T] z) => (float[B,4,T] y) <int64[2] flat = {-1,4}> {
          w = Add(x, m)
          a = Reshape(w, flat)
          s = Shape(z)
          b = Reshape(a, s)
          y = Neg(b)
        }]],
      rejected = "there may be no elements to determine the size" },
    { "an axis of another name", [[
        (float[B,4,S] x, float[B,4,T] z) => (float[B,4,T] y) <int64[2] flat = {-1,4}> {
          a = Reshape(x, flat)
          s = Shape(z)
          b = Reshape(a, s)
          y = Neg(b)
        }]],
      rejected = "the shape is different" },
    { "to another shape", [[
        (float[2,3,4] x) => (float[4,3,2] y) <int64[1] flat = {-1}, int64[3] s = {4,3,2}> {
          a = Reshape(x, flat)
          y = Reshape(a, s)
        }]],
      rejected = "the shape is different" },
  },
}
