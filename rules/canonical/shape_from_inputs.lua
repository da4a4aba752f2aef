--- Read sizes from the graph's inputs instead of from computed values.
return rule {
  doc = [[
    Shape(x)   =>   the same sizes, each a number or read from a graph input

    Removes readers of inner values that only need their sizes.]],
  phase = "canonical",

  match = function(op, x)
    return op.Shape{x, start = any, ["end"] = any}:as "shape"
  end,

  where = function(m)
    need(m.x.producer, "the value is an input already", m.x)
    need(m.shape.outputs[1]:dim(0) ~= 0, "the Shape has no element", m.x)
  end,

  rewrite = function(op, m)
    local parts = {}
    for i, dim in ipairs(m.shape.outputs[1]:dims() or need(false, "a size is unknown", m.x)) do
      need(type(dim) == "number" or not dim.rounded, "a size needs a division", m.x)
      parts[i] = dim
    end
    return op.Concat{parts, axis = 0}
  end,

  examples = {
    { "in the middle of a model", [[
        (float[B,S,8] x) => (int64[3] y) {
          a = Relu(x)
          y = Shape(a)
        }]],
      [[g = Shape <end = 2> (x)
        n = Constant <value = int64[1] {8}> ()
        y = Concat <axis = 0> (g, n)]] },
    { "of something whose size depends on data", [[
        (float[B] x) => (int64[2] y) {
          a = NonZero(x)
          y = Shape(a)
        }]],
      rejected = "a size cannot be computed from the graph's inputs" },
    { "of half of an input", [[
        (float[B,1,S] x) => (int64[3] y) {
          a = MaxPool <kernel_shape = [2], strides = [2]> (x)
          y = Shape(a)
        }]],
      rejected = "a size needs a division" },
    { "of an input", [[
        (float[B,S,8] x) => (int64[3] y) { y = Shape(x) }]],
      rejected = "the value is an input already" },
  },
}
