--- Hide scores before the softmax instead of probabilities after it.
return rule {
  doc = [[
    p / sum of p   =>   Where(k, softmax(Where(k, x, -inf)), 0)      p: Where(k, softmax(x), 0)

    A sum of 0, in rows that hide all keys, may be replaced by 1, and the result by 0. Probabilities of keys that are
    seen must not all be lost beside those of hidden keys.]],
  phase = "canonical",

  match = function(op, x, k)
    local seen = op.Where(k, op.Softmax{x, axis = -1}, 0)
    local sum = op.ReduceSum(seen, {-1})
    local some = op.Greater(sum, 0)
    local result = op.Div(seen, either(op.Where(some, sum, 1), op.Where(op.Equal(sum, 0), 1, sum), sum))
    return either(op.Where(some, result, 0), result)
  end,

  where = function(m)
    need(m.x:type("float", "double", "bfloat16"), "small probabilities are 0 in float16", m.x)
    assume("scores between -40 and 40", m.x)
  end,

  rewrite = function(op, m)
    return op.Where(m.k, op.Softmax{op.Where(m.k, m.x, -math.huge), axis = -1}, 0)
  end,

  examples = {
    { "with a guard against rows that see nothing", [[
        (float[2,4,8,6] x, bool[2,1,8,6] k) => (float[2,4,8,6] y)
        <float zero = {0.0}, float one = {1.0}, int64[1] last = {-1}> {
          p = Softmax <axis = -1> (x)
          w = Where(k, p, zero)
          s = ReduceSum(w, last)
          g = Greater(s, zero)
          d = Where(g, s, one)
          n = Div(w, d)
          y = Where(g, n, zero)
        }]],
      [[low = Constant <value = float {-inf}> ()
        h = Where(k, x, low)
        p = Softmax <axis = -1> (h)
        zero2 = Constant <value = float {0.0}> ()
        y = Where(k, p, zero2)]], assumed = "scores between -40 and 40" },
    { "sums of 0 that are found by Equal", [[
        (float[2,4,8,6] x, bool[2,1,8,6] k) => (float[2,4,8,6] y)
        <float zero = {0.0}, float one = {1.0}, int64[1] last = {-1}> {
          p = Softmax <axis = -1> (x)
          w = Where(k, p, zero)
          s = ReduceSum(w, last)
          g = Equal(s, zero)
          d = Where(g, one, s)
          y = Div(w, d)
        }]],
      [[low = Constant <value = float {-inf}> ()
        h = Where(k, x, low)
        p = Softmax <axis = -1> (h)
        zero2 = Constant <value = float {0.0}> ()
        y = Where(k, p, zero2)]], assumed = "scores between -40 and 40" },
    { "float16", [[
        (float16[2,4,8,6] x, bool[2,1,8,6] k) => (float16[2,4,8,6] y)
        <float16 zero = {0.0}, int64[1] last = {-1}> {
          p = Softmax <axis = -1> (x)
          w = Where(k, p, zero)
          s = ReduceSum(w, last)
          y = Div(w, s)
        }]],
      rejected = "small probabilities are 0 in float16" },
  },
}
