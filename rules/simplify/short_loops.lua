--- Replace a Loop that runs once or never by what it computes.
local bodies = lib "bodies"

return rule {
  doc = [[
    Loop(1, true, x, body = f)   =>   f(x)   or if the body says that it is over
    Loop(0, c, x)   =>   x   or if the condition is false

    The nodes of the body keep their names.]],
  phase = "expansion",

  match = function(op)
    return op.Loop{inputs = any, attrs = any, outputs = any}:as "node"
  end,

  rewrite = function(_, m) return bodies.replace(m.node, {m.node:inline()}) end,

  examples = {
    { "a loop of one turn over a constant, which is an output", [[
        (float[2] unused) => (float[2] y) <int64 one = {1}, float[2] x = {1.0, 2.0}> {
          y = Loop (one, , x) <
            body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity(c) w = Neg(v) }
          >
        }]],
      [[w = Constant <value = float[2] {-1.0, -2.0}> ()
        y = Identity(w)]] },
    { "a loop of one turn, which collects", [[
        (float[2] x) => (float[2] y, float[1,2] all) <int64 one = {1}> {
          y, all = Loop (one, , x) <
            body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] part) {
              d = Identity(c)
              w = Exp(v)
              part = Neg(w)
            }
          >
        }]],
      [[first = Constant <value = int64[1] {0}> ()
        y = Exp(x)
        part = Neg(y)
        all = Unsqueeze(part, first)]] },
    { "a loop whose body says that it is over", [[
        (float[2] x, int64 most) => (float[2] y) <bool go = {1}, int64 two = {2}> {
          y = Loop (two, go, x) <
            body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
              d = Constant <value = bool {0}> ()
              w = Exp(v)
            }
          >
        }]],
      "y = Exp(x)" },
    { "a loop of no turn", [[
        (float[2] x, bool c) => (float[2] y) <int64 none = {0}> {
          a = Neg(x)
          b = Loop (none, c, a) <
            body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
              d = Identity(c)
              w = Exp(v)
            }
          >
          y = Relu(b)
        }]],
      "a = Neg(x) y = Relu(a)" },
    { "a loop of no turn, which collects", [[
        (float[2] x, bool c) => (float[N,2] y) <int64 none = {0}> {
          a, y = Loop (none, c, x) <
            body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] part) {
              d = Identity(c)
              w = Exp(v)
              part = Neg(w)
            }
          >
        }]],
      rejected = "it never runs, but what it collects is read" },
    { "a loop of two turns", [[
        (float[2] x) => (float[2] y) <int64 two = {2}> {
          y = Loop (two, , x) <
            body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
              d = Identity(c)
              w = Exp(v)
            }
          >
        }]],
      rejected = "it may run more than once" },
    { "a loop of an unknown number of turns", [[
        (float[2] x, int64 n) => (float[2] y) {
          y = Loop (n, , x) <
            body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
              d = Identity(c)
              w = Exp(v)
            }
          >
        }]],
      rejected = "it is not known how often it runs" },
  },
}
