--- Remove a Transpose that restores the order of axes before another Transpose.
local axes = lib "axes"

return rule {
  doc = [[
    Transpose(Transpose(x, p), q)   =>   x    where q undoes p]],
  phase = "canonical",

  match = function(op, x)
    return op.Transpose{context(op.Transpose{x, attrs = any}:as "there"), attrs = any}:as "back"
  end,

  where = function(m)
    local p, q = axes.order(m.there), axes.order(m.back)
    need(p and q and #p == #q, "the order of axes is unknown", m.back)
    for i, axis in ipairs(q) do
      need(p[axis + 1] == i - 1, "the order of axes is different", m.back)
    end
  end,

  rewrite = function(op, m) return m.x end,

  examples = {
    { "there and back", [[
        (float[2,3,4] x) => (float[2,3,4] y) {
          a = Transpose <perm = [1,2,0]> (x)
          b = Transpose <perm = [2,0,1]> (a)
          y = Neg(b)
        }]],
      "y = Neg(x)" },
    { "reversed by default, and back", [[
        (float[2,3,4] x) => (float[2,3,4] y) {
          a = Transpose(x)
          b = Transpose <perm = [2,1,0]> (a)
          y = Neg(b)
        }]],
      "y = Neg(x)" },
    { "twice the same way", [[
        (float[2,3,4] x) => (float[4,2,3] y) {
          a = Transpose <perm = [1,2,0]> (x)
          y = Transpose <perm = [1,2,0]> (a)
        }]],
      rejected = "the order of axes is different" },
  },
}
