--- Leave out what the bodies of If, Loop, Scan and SequenceMap compute or are given for nothing.
local bodies = lib "bodies"

return rule {
  doc = [[
    y, unread = Loop(n, c, x, k, body = f)   =>   y = Loop(n, c, x, body = g)

    Leaves out outputs that nothing reads, inputs of a body that it does not read, and values that each turn passes on
    to the next as they are: the body reads those from outside.]],
  phase = "expansion",

  match = function(op)
    local all = { inputs = any, attrs = any, outputs = any }
    return either(
      op.If{any, attrs = any, outputs = any},
      op.Loop(all),
      op.Scan(all),
      op.SequenceMap(all)
    ):as "node"
  end,

  rewrite = function(_, m) return bodies.replace(m.node, {m.node:pruned()}) end,

  examples = {
    { "an output of branches that nothing reads", [[
        (float[2] x, bool c) => (float[2] y) {
          y, unread = If (c) <
            then_branch = t () => (float[2] p, float[2] r) { n = Neg(x)  p = Abs(n)  r = Sin(n) },
            else_branch = e () => (float[2] q, float[2] s) { q = Exp(x)  s = Cos(x) }
          >
        }]],
      [[y = If (c) <
          then_branch = t () => (float[2] p) { n = Neg(x)  p = Abs(n) },
          else_branch = e () => (float[2] q) { q = Exp(x) }
        >]] },
    { "the first output", [[
        (float[2] x, bool c) => (float[2] y) {
          unread, y = If (c) <
            then_branch = t () => (float[2] p, float[2] r) { p = Abs(x)  r = Sin(x) },
            else_branch = e () => (float[2] q, float[2] s) { q = Exp(x)  s = Cos(x) }
          >
        }]],
      [[y = If (c) <
          then_branch = t () => (float[2] r) { r = Sin(x) },
          else_branch = e () => (float[2] s) { s = Cos(x) }
        >]] },
    { "a carried value that stays, one that nothing needs, and a list that nothing reads", [[
        (float[2] x, float[2] k, float[2] u, int64 n) => (float[2] y) {
          y, same, counted, all = Loop (n, , x, k, u) <
            body = b (int64 i, bool c, float[2] v, float[2] f, float[2] s)
                => (bool d, float[2] w, float[2] g, float[2] t, float[2] part) {
              d = Identity(c)
              w = Mul(v, f)
              g = Identity(f)
              t = Add(s, v)
              part = Neg(w)
            }
          >
        }]],
      [[y = Loop (n, , x) <
          body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity(c)  w = Mul(v, k) }
        >]] },
    { "inputs of a Scan that its body does not read", [[
        (float[2] x, float[3,2] a, float[2,3] u) => (float[2] y, float[2,3] out) {
          y, none, out = Scan (x, a, u) <
            num_scan_inputs = 2, scan_input_axes = [0, 1], scan_output_axes = [0, 1],
            body = b (float[2] v, float[2] p, float[2] q) => (float[2] w, float[2] lost, float[2] r) {
              w = Add(v, p)
              lost = Sin(v)
              r = Exp(w)
            }
          >
        }]],
      [[y, out = Scan (x, a) <
          num_scan_inputs = 1, scan_input_axes = [0], scan_output_axes = [1],
          body = b (float[2] v, float[2] p) => (float[2] w, float[2] r) { w = Add(v, p)  r = Exp(w) }
        >]] },
    { "a Scan whose body reads none of its inputs, which still count the turns", [[
        (float[2] x, float[3,2] a, float[3,2] u) => (float[2] y) {
          y = Scan (x, a, u) <
            num_scan_inputs = 2,
            body = b (float[2] v, float[2] p, float[2] q) => (float[2] w) { w = Exp(v) }
          >
        }]],
      [[y = Scan (x, a) <
          num_scan_inputs = 1,
          body = b (float[2] v, float[2] p) => (float[2] w) { w = Exp(v) }
        >]] },
    { "a carried value that the body sets, and does not read", [[
        (float[2] x, float[2] z, float[2] u, int64 n) => (float[2] y, float[2] last) {
          y, last, gone = Loop (n, , x, z, u) <
            body = b (int64 i, bool c, float[2] v, float[2] p, float[2] q)
                => (bool d, float[2] w, float[2] r, float[2] s) {
              d = Identity(c)
              w = Exp(v)
              r = Neg(v)
              s = Abs(q)
            }
          >
        }]],
      [[y, last = Loop (n, , x, z) <
          body = b (int64 i, bool c, float[2] v, float[2] p) => (bool d, float[2] w, float[2] r) {
            d = Identity(c)
            w = Exp(v)
            r = Neg(v)
          }
        >]] },
    { "all is read", [[
        (float[2] x, int64 n) => (float[2] y) {
          y = Loop (n, , x) <
            body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity(c)  w = Exp(v) }
          >
        }]],
      rejected = "everything that its bodies compute is read" },
  },
}
