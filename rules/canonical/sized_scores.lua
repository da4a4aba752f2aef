--- State that masks leave the shape of scores as it is.

return rule {
  doc = [[
    view(f(a b))   =>   view(Reshape(f(a b), shape of a b))

    f: masks of the scores a b whose sizes have other names than those of the scores; sums and choices, scales, and a
    softmax over the last axis. Views of heads need a shape that is known (merged_batch).]],
  phase = "canonical",

  match = function(op, a, b)
    local product = context(op.MatMul(a, b):as "product")
    local function step(s)
      return either(op.Mul(s, any), op.Div(s, any), op.Add(s, any), op.Sub(s, any), op.Where(any, s, any),
        op.Where(any, any, s))
    end
    local scores = many(function(s) return context(step(s)) end, product)
    local last = context(either(op.Softmax{scores, axis = -1}, step(scores)):as "last")
    return either(op.Unsqueeze(last, any), op.Reshape{last, any, allowzero = any}):as "view"
  end,

  where = function(m)
    local last, scores = m.last.outputs[1], m.product.outputs[1]
    need(scores:rank(), "the rank is unknown", scores)
    need(last.shape ~= scores.shape, "the shape is known", last)
    need(not (m.a:const() or m.b:const()), "an operand is constant, so this is a layer", scores)
    need(last:rank() == scores:rank(), "the ranks differ", last)
    need(m.view.op ~= "Reshape" or m.view.outputs[1].shape ~= scores.shape, "the view gives the shape", last)
    for i, size in ipairs(scores.shape) do
      local known = last:dim(i - 1)
      need(known == size or type(known) ~= "number", "a mask makes the scores larger", last)
    end
    assume("no mask makes the scores larger", last)
  end,

  rewrite = function(op, m)
    local shape = m.product.outputs[1].shape
    local sized = op.Reshape(m.last.outputs[1], shape)
    need(sized.shape == shape, "a Reshape cannot say the shape", m.product)
    return m.view:with{sized, m.view.inputs[2]}
  end,

  examples = {
    { "a mask of unknown sizes, and a view of the probabilities", [[
        (float[B,4,S,16] q, float[B,4,16,6] k, float[1,1,M,1] m) => (float[B,4,1,L,6] y) <int64[1] two = {2}> {
          s = MatMul(q, k)
          a = Add(s, m)
          p = Softmax <axis = -1> (a)
          y = Unsqueeze(p, two)
        }]],
      [[s = MatMul(q, k)
        a = Add(s, m)
        p = Softmax <axis = -1> (a)
        b = Shape <end = 1> (q)
        four = Constant <value = int64[1] {4}> ()
        l = Shape <start = 2, end = 3> (q)
        six = Constant <value = int64[1] {6}> ()
        shape = Concat <axis = 0> (b, four, l, six)
        r = Reshape <allowzero = 1> (p, shape)
        y = Unsqueeze(r, two)]], assumed = "no mask makes the scores larger" },
    { "a view that gives the shape", [[
        (float[B,4,S,16] q, float[B,4,16,6] k, float[1,1,M,1] m) => (float[B,4,S,6] y) {
          s = MatMul(q, k)
          a = Add(s, m)
          b = Shape(s)
          y = Reshape(a, b)
        }]],
      rejected = "the view gives the shape" },
    { "a mask of the same sizes", [[
        (float[B,4,S,16] q, float[B,4,16,6] k, float[1,1,S,1] m) => (float[B,4,1,S,6] y) <int64[1] two = {2}> {
          s = MatMul(q, k)
          a = Add(s, m)
          p = Softmax <axis = -1> (a)
          y = Unsqueeze(p, two)
        }]],
      rejected = "the shape is known" },
    { "a mask of more axes", [[
        (float[B,4,S,16] q, float[B,4,16,6] k, float[1,1,1,M,1] m) => (float[1,B,1,4,L,6] y) <int64[1] two = {2}> {
          s = MatMul(q, k)
          a = Add(s, m)
          p = Softmax <axis = -1> (a)
          y = Unsqueeze(p, two)
        }]],
      rejected = "the ranks differ" },
    { "scores of an unknown rank", [[
        (float[] q, float[B,4,16,6] k, float[1,1,M,1] m) => (float[] y) <int64[1] two = {2}> {
          s = MatMul(q, k)
          a = Add(s, m)
          p = Softmax <axis = -1> (a)
          y = Unsqueeze(p, two)
        }]],
      rejected = "the rank is unknown" },
    { "a mask of more rows", [[
        (float[B,4,1,16] q, float[B,4,16,6] k, float[1,1,8,1] m) => (float[B,4,1,8,6] y) <int64[1] two = {2}> {
          s = MatMul(q, k)
          a = Add(s, m)
          p = Softmax <axis = -1> (a)
          y = Unsqueeze(p, two)
        }]],
      rejected = "a mask makes the scores larger" },
    { "scores of one unknown size, which a -1 would leave to the mask", [[
        (float[?,4,8,16] q, float[?,4,16,6] k, float[?,1,1,1] m) => (float[?,4,1,8,6] y) <int64[1] two = {2}> {
          s = MatMul(q, k)
          a = Add(s, m)
          p = Softmax <axis = -1> (a)
          y = Unsqueeze(p, two)
        }]],
      rejected = "a Reshape cannot say the shape" },
    { "a layer", [[
        (float[B,4,S,16] q, float[1,1,M,1] m) => (float[B,4,1,L,6] y) <float c = {0.5}, int64[3] w = {4,16,6},
          int64[1] two = {2}> {
          k = Expand(c, w)
          s = MatMul(q, k)
          a = Add(s, m)
          p = Softmax <axis = -1> (a)
          y = Unsqueeze(p, two)
        }]],
      rejected = "an operand is constant, so this is a layer" },
    { "a softmax over another axis", [[
        (float[B,4,S,16] q, float[B,4,16,6] k, float[1,1,M,1] m) => (float[B,4,1,L,6] y) <int64[1] two = {2}> {
          s = MatMul(q, k)
          a = Add(s, m)
          p = Softmax <axis = 1> (a)
          y = Unsqueeze(p, two)
        }]],
      "s = MatMul(q, k) a = Add(s, m) p = Softmax <axis = 1> (a) y = Unsqueeze(p, two)" },
  },
}
