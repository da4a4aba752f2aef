--- An example of editing: another activation after every linear layer.
local linear = lib "linear"

return rule {
  doc = [[
    tanh(x w^T + b)   =>   relu(x w^T + b)

    It computes something else, and says so. The layer stays the node that it was, weights and all.]],
  changes_meaning = true,

  match = function(op, x, w, b)
    return op.Tanh(context(linear.any(op, x, w, b))):as "tanh"
  end,

  rewrite = function(op, m)
    return op.Relu(m.tanh.inputs[1])
  end,

  examples = {
    { "the layer is kept", [[
        (float[3,5] x) => (float[3,2] y) <float[5,2] w = {1,2,3,4,5,6,7,8,9,10}, float[2] b = {1,2}> {
          h = Gemm(x, w, b)
          y = Tanh(h)
        }]],
      "h = Gemm(x, w, b) y = Relu(h)" },
    { "no layer before it", [[
        (float[3,5] x) => (float[3,5] y) {
          h = Sigmoid(x)
          y = Tanh(h)
        }]],
      "h = Sigmoid(x) y = Tanh(h)" },
  },
}
