--- Replace an If whose condition is known by the branch that it takes.
local bodies = lib "bodies"

return rule {
  doc = [[
    If(c, then = f, else = g)   =>   f   if c is true, and g if it is false

    The nodes of the branch keep their names.]],
  phase = "expansion",

  match = function(op)
    return op.If{any, attrs = any, outputs = any}:as "node"
  end,

  rewrite = function(_, m) return bodies.replace(m.node, {m.node:inline()}) end,

  examples = {
    { "a branch that is taken, and reads from outside", [[
        (float[2] x) => (float[2] y) <bool yes = {1}> {
          a = Neg(x)
          b = If (yes) <
            then_branch = t () => (float[2] p) { n = Abs(a)  p = Add(n, x) },
            else_branch = e () => (float[2] q) { q = Exp(a) }
          >
          y = Relu(b)
        }]],
      "a = Neg(x) n = Abs(a) b = Add(n, x) y = Relu(b)" },
    { "a condition that is not known", [[
        (float[2] x, bool c) => (float[2] y) {
          y = If (c) <
            then_branch = t () => (float[2] p) { p = Neg(x) },
            else_branch = e () => (float[2] q) { q = Exp(x) }
          >
        }]],
      rejected = "the condition is not known" },
    { "a body within a branch", [[
        (float[2] x, bool c) => (float[2] y) <bool no = {0}> {
          y = If (no) <
            then_branch = t () => (float[2] p) { p = Neg(x) },
            else_branch = e () => (float[2] q) {
              n = Abs(x)
              q = If (c) <
                then_branch = tt () => (float[2] r) { m = Neg(n)  r = Mul(m, x) },
                else_branch = ee () => (float[2] s) { s = Exp(n) }
              >
            }
          >
        }]],
      [[n = Abs(x)
        y = If (c) <
          then_branch = tt () => (float[2] r) { m = Neg(n)  r = Mul(m, x) },
          else_branch = ee () => (float[2] s) { s = Exp(n) }
        >]] },
  },
}
