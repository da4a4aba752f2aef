--- Remove Dropout, which does nothing at inference.
return rule {
  doc = [[
    Dropout(x)   =>   x   if it is not training and nothing reads its mask]],
  phase = "canonical",

  match = function(op, x, ratio, training)
    return op.Dropout{x, maybe(ratio), maybe(training), seed = any}
  end,

  where = function(m)
    if m.training then
      need(m.training:scalar() == 0, "the Dropout may be training", m.training)
    end
  end,

  rewrite = function(op, m) return m.x end,

  examples = {
    { "between two nodes", [[
        (float[2,3] x) => (float[2,3] y) <float r = {0.5}> {
          a = Relu(x)
          d = Dropout(a, r)
          y = Neg(d)
        }]],
      "a = Relu(x) y = Neg(a)" },
    { "with a seed, which has no effect", [[
        (float[2,3] x) => (float[2,3] y) <float r = {0.5}, bool t = {0}> {
          d = Dropout <seed = 7> (x, r, t)
          y = Neg(d)
        }]],
      "y = Neg(x)" },
    { "training", [[
        (float[2,3] x) => (float[2,3] y) <float r = {0.5}, bool t = {1}> {
          y = Dropout(x, r, t)
        }]],
      rejected = "the Dropout may be training" },
  },
}
