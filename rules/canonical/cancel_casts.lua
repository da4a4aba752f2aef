--- Take out a Cast that goes back to the type that another one left.

-- What holds every number of a type.
local WIDER = {
  bool = { float16 = true, bfloat16 = true, float = true, double = true, int32 = true, int64 = true },
  float16 = { float = true, double = true },
  bfloat16 = { float = true, double = true },
  float = { double = true },
  int32 = { int64 = true, double = true },
}

return rule {
  doc = [[
    Cast(Cast(x))   =>   x   to the type of x, by way of one that holds all its numbers]],
  phase = "canonical",

  match = function(op, x)
    return op.Cast{context(op.Cast{x, to = any}:as "there"), to = any}:as "back"
  end,

  where = function(m)
    local wide = m.there.outputs[1]
    need(m.back.outputs[1].dtype == m.x.dtype, "it goes on to another type", m.back)
    need(WIDER[m.x.dtype] and WIDER[m.x.dtype][wide.dtype], "numbers may be lost on the way", wide)
  end,

  rewrite = function(op, m) return m.x end,

  examples = {
    { "a softmax of halves, in float", [[
        (float16[2,3] x) => (float16[2,3] y) {
          p = Softmax <axis = -1> (x)
          a = Cast <to = 1> (p)
          y = Cast <to = 10> (a)
        }]],
      "y = Softmax <axis = -1> (x)" },
    { "truth values as numbers", [[
        (bool[2,3] x) => (bool[2,3] y) {
          a = Cast <to = 1> (x)
          b = Cast <to = 9> (a)
          y = Not(b)
        }]],
      "y = Not(x)" },
    { "by way of halves", [[
        (float[2,3] x) => (float[2,3] y) {
          a = Cast <to = 10> (x)
          y = Cast <to = 1> (a)
        }]],
      rejected = "numbers may be lost on the way" },
  },
}
