--- An example of an edit: replaces the activation after every linear layer. Pattern and replacement are two functions.
local linear = lib "linear"

return rule {
  doc = [[
    tanh(x w^T + b)   =>   relu(x w^T + b)

    The result computes something else, so the rule sets changes_meaning. The part that is the same on both sides keeps
    its nodes and weights; the Relu is new.]],
  changes_meaning = true,

  match = function(op, x, w, b)
    return op.Tanh(context(linear.any(op, x, w, b)))
  end,

  replace = function(op, x, w, b)
    return op.Relu(linear.any(op, x, w, b))
  end,

  examples = {
    { "the layer is kept", [[
        (float[3,5] x) => (float[3,2] y) <float[5,2] w = {1,2,3,4,5,6,7,8,9,10}, float[2] b = {1,2}> {
          h = Gemm(x, w, b)
          y = Tanh(h)
        }]],
      "h = Gemm(x, w, b) y = Relu(h)" },
    { "spelled as a product and a sum", [[
        (float[3,5] x) => (float[3,2] y) <float[5,2] w = {1,2,3,4,5,6,7,8,9,10}, float[2] b = {1,2}> {
          p = MatMul(x, w)
          h = Add(b, p)
          y = Tanh(h)
        }]],
      "p = MatMul(x, w) h = Add(b, p) y = Relu(h)" },
    { "the first layer of two", [[
        (float[3,5] x) => (float[3,1] y)
          <float[5,2] w = {1,2,3,4,5,6,7,8,9,10}, float[2] b = {1,2}, float[2,1] v = {1,2}> {
          h = Gemm(x, w, b)
          t = Tanh(h)
          o = Gemm(t, v)
          y = Sigmoid(o)
        }]],
      "h = Gemm(x, w, b) t = Relu(h) o = Gemm(t, v) y = Sigmoid(o)" },
    { "the layer has another reader", [[
        (float[3,5] x) => (float[3,2] y, float[3,2] z) <float[5,2] w = {1,2,3,4,5,6,7,8,9,10}, float[2] b = {1,2}> {
          h = Gemm(x, w, b)
          y = Tanh(h)
          z = Neg(h)
        }]],
      "h = Gemm(x, w, b) y = Relu(h) z = Neg(h)" },
    { "no layer before it", [[
        (float[3,5] x) => (float[3,5] y) {
          h = Sigmoid(x)
          y = Tanh(h)
        }]],
      "h = Sigmoid(x) y = Tanh(h)" },
  },
}
