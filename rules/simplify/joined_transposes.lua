--- Replace two Transposes by one.
local axes = lib "axes"

return rule {
  doc = [[
    Transpose(Transpose(x, p), q)   =>   Transpose(x, r)    r(i) = p(q(i))

    Attention in standard ops moves heads to the front, then transposes keys. If the inner Transpose has other readers,
    both stay.]],

  match = function(op, x)
    return op.Transpose{op.Transpose{x, attrs = any}:as "inner", attrs = any}:as "outer"
  end,

  where = function(m)
    local p, q = axes.order(m.inner), axes.order(m.outer)
    need(p and q and #p == #q, "the order of axes is unknown", m.outer)
    m.perm, m.turns = {}, false
    for i, axis in ipairs(q) do
      m.perm[i] = p[axis + 1]
      m.turns = m.turns or m.perm[i] ~= i - 1
    end
  end,

  rewrite = function(op, m) return m.turns and op.Transpose{m.x, perm = m.perm} or m.x end,

  examples = {
    { "keys of heads, turned", [[
        (float[2,5,4,3] x) => (float[2,4,3,5] y) {
          a = Transpose <perm = [0,2,1,3]> (x)
          y = Transpose <perm = [0,1,3,2]> (a)
        }]],
      "y = Transpose <perm = [0,2,3,1]> (x)" },
    { "three axes in a circle, twice", [[
        (float[2,3,4] x) => (float[4,2,3] y) {
          a = Transpose <perm = [1,2,0]> (x)
          y = Transpose <perm = [1,2,0]> (a)
        }]],
      "y = Transpose <perm = [2,0,1]> (x)" },
    { "the axes reversed by default", [[
        (float[2,3,4] x) => (float[4,2,3] y) {
          a = Transpose(x)
          y = Transpose <perm = [0,2,1]> (a)
        }]],
      "y = Transpose <perm = [2,0,1]> (x)" },
    { "then reversed", [[
        (float[2,3,4] x) => (float[3,4,2] y) {
          a = Transpose <perm = [0,2,1]> (x)
          y = Transpose(a)
        }]],
      "y = Transpose <perm = [1,2,0]> (x)" },
    { "both by default", [[
        (float[2,3,4] x) => (float[2,3,4] y) {
          a = Transpose(x)
          y = Transpose(a)
        }]],
      "y = Identity(x)" },
    { "the default order undone", [[
        (float[2,3,4] x) => (float[2,3,4] y) {
          a = Transpose(x)
          y = Transpose <perm = [2,1,0]> (a)
        }]],
      "y = Identity(x)" },
    { "another reader between", [[
        (float[2,3,4] x) => (float[4,2,3] y, float[3,4,2] z) {
          a = Transpose <perm = [1,2,0]> (x)
          y = Transpose <perm = [1,2,0]> (a)
          z = Neg(a)
        }]],
      "a = Transpose <perm = [1,2,0]> (x) y = Transpose <perm = [1,2,0]> (a) z = Neg(a)" },
  },
}
