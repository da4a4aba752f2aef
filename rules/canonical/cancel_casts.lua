--- Remove a Cast that goes back to the type before another Cast.

-- The types that hold every number of a type.
local WIDER = {
  bool = { float16 = true, bfloat16 = true, float = true, double = true, int32 = true, int64 = true },
  float16 = { float = true, double = true },
  bfloat16 = { float = true, double = true },
  float = { double = true },
  int32 = { int64 = true, double = true },
}

return rule {
  doc = [[
    Cast(Cast(x))   =>   x   back to the type of x; the type between holds all its numbers]],
  phase = "canonical",

  match = function(op, x)
    return op.Cast{context(op.Cast{x, to = any}:as "there"), to = any}:as "back"
  end,

  where = function(m)
    local wide = m.there.outputs[1]
    need(m.back.outputs[1].dtype == m.x.dtype, "wrong type of the second Cast", m.back)
    need(WIDER[m.x.dtype] and WIDER[m.x.dtype][wide.dtype], "the type between does not hold all numbers", wide)
  end,

  rewrite = function(op, m) return m.x end,

  examples = {
    { "a softmax of float16 values, in float", [[
        (float16[2,3] x) => (float16[2,3] y) {
          p = Softmax <axis = -1> (x)
          a = Cast <to = 1> (p)
          y = Cast <to = 10> (a)
        }]],
      "y = Softmax <axis = -1> (x)" },
    { "booleans as numbers", [[
        (bool[2,3] x) => (bool[2,3] y) {
          a = Cast <to = 1> (x)
          b = Cast <to = 9> (a)
          y = Not(b)
        }]],
      "y = Not(x)" },
    { "through float16", [[
        (float[2,3] x) => (float[2,3] y) {
          a = Cast <to = 10> (x)
          y = Cast <to = 1> (a)
        }]],
      rejected = "the type between does not hold all numbers" },
  },
}
