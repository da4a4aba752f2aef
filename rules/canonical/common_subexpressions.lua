--- Compute equal values once.
return rule {
  doc = [[
    f(x), f(x)   =>   one f(x) with the readers of both

    The same op with the same attributes on the same values; small constants are compared by their numbers. Excluded are
    random ops, functions of the model, ops that the engine does not know, and two outputs of the model, which need a
    node each.]],
  phase = "canonical",

  pass = function(graph)
    for _, twins in ipairs(graph:twins()) do
      attempt(twins.second, function()
        local first = twins.first.outputs
        for i, v in ipairs(twins.second.outputs) do v:replace_with(first[i]) end
      end)
    end
  end,

  examples = {
    { "the same Cast twice, and its readers", [[
        (float16[2,3] x) => (float[2,3] y) <float[1] c = {2.0}, float[1] d = {2.0}> {
          a = Cast <to = 1> (x)
          b = Cast <to = 1> (x)
          e = Mul(a, c)
          f = Mul(b, d)
          s = Sigmoid(e)
          y = Div(f, s)
        }]],
      [[k = Constant <value = float[1] {2.0}> ()
        a = Cast <to = 1> (x)
        e = Mul(a, k)
        s = Sigmoid(e)
        y = Div(e, s)]] },
    { "an attribute that one of them leaves at its default", [[
        (float[2,3] x) => (float[2,3] y) {
          a = Softmax(x)
          b = Softmax <axis = -1> (x)
          y = Add(a, b)
        }]],
      "a = Softmax(x) y = Add(a, a)" },
    { "another attribute, another operand, a random op", [[
        (float[2,3] x, float[2,3] z) => (float[2,3] y, float[2,3] r) {
          a = Softmax <axis = 0> (x)
          b = Softmax <axis = 1> (x)
          c = Softmax <axis = 1> (z)
          y = Sum(a, b, c)
          d = RandomNormalLike(x)
          e = RandomNormalLike(x)
          r = Sub(d, e)
        }]],
      [[a = Softmax <axis = 0> (x)
        b = Softmax <axis = 1> (x)
        c = Softmax <axis = 1> (z)
        y = Sum(a, b, c)
        d = RandomNormalLike(x)
        e = RandomNormalLike(x)
        r = Sub(d, e)]] },
    { "two outputs of the model", [[
        (float[2,3] x) => (float[2,3] y, float[2,3] z) {
          y = Relu(x)
          z = Relu(x)
        }]],
      "y = Relu(x) z = Relu(x)" },
    { "one output of the model, which keeps its name", [[
        (float[2,3] x) => (float[2,3] y, float[2,3] z) {
          a = Relu(x)
          y = Relu(x)
          z = Neg(a)
        }]],
      "y = Relu(x) z = Neg(y)" },
  },
}
