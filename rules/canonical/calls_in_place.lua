--- Write the bodies of functions in the places of their calls.
local bodies = lib "bodies"

return rule {
  doc = [[
    f(x)   =>   the nodes of f

    So that rules find what lies partly in a function and partly beside its call, and know the types of its inputs. A
    call comes back where no rule needed its body.]],
  phase = "canonical",

  pass = function(graph) bodies.inline(graph:calls()) end,

  examples = {
    { "two calls, one within a function", [[
        <ir_version: 10, opset_import: ["" : 21, "my" : 1]>
        g (float[2] x) => (float[2] y) {
          a = my.f <alpha = 2.0> (x)
          y = my.h(a)
        }
        <domain: "my", opset_import: ["" : 21]> f <alpha> (u) => (w) {
          c = Constant <value_float : float = @alpha> ()
          t = Mul(u, c)
          w = Add(t, u)
        }
        <domain: "my", opset_import: ["" : 21, "my" : 1]> h (u) => (w) {
          t = my.f <alpha = 3.0> (u)
          w = Neg(t)
        }]],
      [[c = Constant <value = float {2.0}> ()
        t = Mul(x, c)
        a = Add(t, x)
        d = Constant <value = float {3.0}> ()
        s = Mul(a, d)
        b = Add(s, a)
        y = Neg(b)]] },
    { "of another opset", [[
        <ir_version: 10, opset_import: ["" : 21, "my" : 1]>
        g (float[2,2] x) => (float[2,2] y) {
          y = my.f(x)
        }
        <domain: "my", opset_import: ["" : 12]> f (u) => (w) {
          w = Softmax(u)
        }]],
      rejected = "the function is written for another opset" },
  },
}
