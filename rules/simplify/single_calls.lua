--- Write the body of a function in the place of its only call.
local bodies = lib "bodies"

return rule {
  doc = [[
    f(x)   =>   the nodes of f   if nothing else calls f, or if that is one node

    Not where the function is written for another opset than its caller.]],
  phase = "expansion",

  pass = function(graph) bodies.inline(graph:single_calls()) end,

  examples = {
    { "the only call", [[
        <ir_version: 10, opset_import: ["" : 21, "my" : 1]>
        g (float[2] x) => (float[2] y) {
          a = my.f <alpha = 2.0> (x)
          y = Neg(a)
        }
        <domain: "my", opset_import: ["" : 21]> f <alpha> (u) => (w) {
          c = Constant <value_float : float = @alpha> ()
          t = Mul(u, c)
          w = Add(t, u)
        }]],
      "c = Constant <value = float {2.0}> () t = Mul(x, c) a = Add(t, x) y = Neg(a)" },
    { "two calls", [[
        <ir_version: 10, opset_import: ["" : 21, "my" : 1]>
        g (float[2] x) => (float[2] y) {
          a = my.f(x)
          y = my.f(a)
        }
        <domain: "my", opset_import: ["" : 21]> f (u) => (w) {
          t = Abs(u)
          w = Add(t, u)
        }]],
      "a = my.f(x) y = my.f(a)" },
    { "two calls of one node", [[
        <ir_version: 10, opset_import: ["" : 21, "my" : 1]>
        g (float[2] x) => (float[2] y) {
          a = my.f(x)
          y = my.f(a)
        }
        <domain: "my", opset_import: ["" : 21]> f (u) => (w) { w = Abs(u) }]],
      "a = Abs(x) y = Abs(a)" },
    { "a function that is written for another opset", [[
        <ir_version: 10, opset_import: ["" : 21, "my" : 1]>
        g (float[2,2] x) => (float[2,2] y) { y = my.f(x) }
        <domain: "my", opset_import: ["" : 12]> f (u) => (w) { w = Softmax <axis = 0> (u) }]],
      rejected = "the function is written for another opset" },
  },
}
