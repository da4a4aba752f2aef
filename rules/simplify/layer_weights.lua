--- Scale and shift the weights of a layer instead of its result.
local weights = lib "weights"

-- Whether v is one number, or one for each of `channels` on the axis of a result of this rank.
local function is_of_channels(v, channels, axis, rank)
  local added = v:rank() - rank
  for i = 0, v:rank() - 1 do
    if v:dim(i) ~= 1 and (i - added ~= axis or v:dim(i) ~= channels) then return false end
  end
  return true
end

return rule {
  doc = [[
    BatchNormalization(Conv(x, w, b))   =>   Conv(x, w s, b s + t)     s = scale / sqrt(variance + epsilon)
    s Conv(x, w, b) + t                 =>   Conv(x, w s, b s + t)     s, t: a number, or one for each channel

    Also ConvTranspose and Gemm; and MatMul, without t. Nothing else reads w.]],

  match = function(op, x, w, b, s, t, mean, variance)
    local layer = either(
      op.Conv{x, w, maybe(b), attrs = any},
      op.ConvTranspose{x, w, maybe(b), attrs = any},
      op.Gemm{x, w, maybe(b), transA = any, transB = any, alpha = any},
      op.MatMul(x, w)):as "layer"
    return either(
      op.BatchNormalization{layer, s, t, mean, variance, epsilon = any, momentum = any}:as "norm",
      op.Mul(layer, s), op.Div(layer, s):as "divided",
      op.Add(layer, t), op.Sub(layer, t):as "less")
  end,

  where = function(m)
    need(m.w:const(), "the weight is computed", m.w)
    local y = m.layer.outputs[1]
    local rank, kind = need(y:rank(), "the rank is unknown", y), m.layer.op
    local axis, first = 1, kind == "Conv" or kind == "Gemm" and m.layer.attrs.transB ~= 0
    if kind == "MatMul" then
      need(not m.t, "a product has no summand", m.t)
      axis = rank - 1
    end
    need(m.w:rank() > 1, "the weight is a vector", m.w)
    need(#m.w.users == 1, "the weight has another reader", m.w)
    m.out = first and 0 or kind == "MatMul" and m.w:rank() - 1 or 1
    m.group = kind == "ConvTranspose" and m.layer.attrs.group or 1
    m.channels = m.w:dim(m.out) * m.group
    for _, v in ipairs{m.s or false, m.t or false, m.b or false} do
      if v then
        need(v:const(), "a factor or summand is computed", v)
        local fits = v == m.b and kind ~= "Gemm" or m.norm or is_of_channels(v, m.channels, axis, rank)
        need(fits, "there is not one number for each channel", v)
      end
    end
    if m.norm then need(m.mean:const() and m.variance:const(), "a statistic is computed", m.mean) end
    need(not m.divided or m.w:type("float16", "bfloat16", "float", "double"), "a quotient of integers is cut", m.w)
  end,

  rewrite = function(op, m)
    local up, down = weights.casts(op, m.w.dtype)
    local function flat(v) return op.Reshape(up(v), {-1}) end
    local s, t = m.s and flat(m.s), m.t and flat(m.t)
    if m.norm then
      s = op.Div(s, op.Sqrt(op.Add(flat(m.variance), m.norm.attrs.epsilon)))
      t = op.Sub(t, op.Mul(flat(m.mean), s))
    end
    if m.divided then s = op.Reciprocal(s) end
    if m.less then t = op.Neg(t) end

    local w, b = up(m.w), m.b and up(m.b)
    if s then
      local sizes, across = {}, op.Expand(s, {m.channels})
      for i = 1, m.w:rank() do sizes[i] = 1 end
      if m.layer.op == "ConvTranspose" then
        -- [in, out / group, ...] as [group, in / group, out / group, ...]
        local parts, ones = { m.group, m.w.shape[1] / m.group }, { m.group, 1, m.channels / m.group }
        for i = 2, m.w:rank() do parts[i + 1] = m.w.shape[i] end
        for i = 3, m.w:rank() do ones[i + 1] = 1 end
        w = op.Reshape(op.Mul(op.Reshape(w, parts), op.Reshape(across, ones)), m.w.shape)
      else
        sizes[m.out + 1] = m.channels
        w = op.Mul(w, op.Reshape(across, sizes))
      end
      b = b and op.Mul(b, s)
    end
    if t then b = b and op.Add(b, t) or op.Expand(t, {m.channels}) end
    need(weights.fits(op, w, m.w.dtype), "a weight might overflow", m.w)
    need(weights.fits(op, b, m.w.dtype), "a bias might overflow", m.t or m.b)
    if m.layer.op == "MatMul" then return op.MatMul(m.x, down(w)) end
    return m.layer:with(m.x, down(w), b and down(b))
  end,

  examples = {
    { "a norm of a convolution without bias", [[
        (float[B,1,4,4] x) => (float[B,2,4,4] y) <float[2,1,1,1] w = {1.0, 2.0}, float[2] s = {3.0, 1.0},
          float[2] t = {1.0, 0.0}, float[2] mean = {2.0, 1.0}, float[2] variance = {3.99, 0.99}> {
          c = Conv(x, w)
          y = BatchNormalization <epsilon = 0.01> (c, s, t, mean, variance)
        }]],
      [[w2 = Constant <value = float[2,1,1,1] {1.5, 2.0}> ()
        b2 = Constant <value = float[2] {-2.0, -1.0}> ()
        y = Conv(x, w2, b2)]] },
    { "a norm of a transposed convolution in groups", [[
        (float[B,4,3] x) => (float[B,6,3] y)
          <float[4,3,1] w = {1,2,3, 4,5,6, 7,8,9, 10,11,12}, float[6] b = {1,1,1,1,1,1},
          float[6] s = {1,2,3,4,5,6}, float[6] t = {0,0,0,0,0,1}, float[6] mean = {0,0,0,0,0,1},
          float[6] variance = {0.5,0.5,0.5,0.5,0.5,0.5}> {
          c = ConvTranspose <group = 2> (x, w, b)
          y = BatchNormalization <epsilon = 0.5> (c, s, t, mean, variance)
        }]],
      [[w2 = Constant <value = float[4,3,1] {1,4,9, 4,10,18, 28,40,54, 40,55,72}> ()
        b2 = Constant <value = float[6] {1,2,3,4,5,1}> ()
        y = ConvTranspose <group = 2> (x, w2, b2)]] },
    { "a number for each channel, and one in all", [[
        (float[B,1,4,4] x) => (float[B,2,4,4] y) <float[2,1,1,1] w = {1.0, 2.0}, float[2,1,1] s = {3.0, 1.0},
          float t = {1.0}> {
          c = Conv(x, w)
          d = Mul(s, c)
          y = Sub(d, t)
        }]],
      [[w2 = Constant <value = float[2,1,1,1] {3.0, 2.0}> ()
        b2 = Constant <value = float[2] {-1.0, -1.0}> ()
        y = Conv(x, w2, b2)]] },
    { "a Gemm", [[
        (float[B,2] x) => (float[B,3] y) <float[3,2] w = {1,2,3,4,5,6}, float[3] b = {1,1,1}, float[3] s = {1,2,4},
          float[1,3] t = {1,2,3}> {
          c = Gemm <transB = 1> (x, w, b)
          d = Div(c, s)
          y = Add(d, t)
        }]],
      [[w2 = Constant <value = float[3,2] {1,2,1.5,2,1.25,1.5}> ()
        b2 = Constant <value = float[3] {2,2.5,3.25}> ()
        y = Gemm <transB = 1> (x, w2, b2)]] },
    { "a product", [[
        (float[B,S,2] x) => (float[B,S,3] y) <float[2,3] w = {1,2,3,4,5,6}, float s = {2.0}> {
          c = MatMul(x, w)
          y = Mul(c, s)
        }]],
      "w2 = Constant <value = float[2,3] {2,4,6,8,10,12}> () y = MatMul(x, w2)" },
    { "half of the largest number", [[
        (float16[B,2] x) => (float16[B,1] y) <float16[2,1] w = {60000.0, 1.0}, float16 s = {2.0}> {
          c = MatMul(x, w)
          y = Mul(c, s)
        }]],
      rejected = "a weight might overflow" },
    { "a quotient by 0", [[
        (float[B,2] x) => (float[B,2] y) <float[2,2] w = {1,2,3,4}, float[2] s = {1.0, 0.0}> {
          c = MatMul(x, w)
          y = Div(c, s)
        }]],
      rejected = "a weight might overflow" },
    { "a large bias, scaled", [[
        (float16[B,2] x) => (float16[B,1] y)
          <float16[2,1] w = {2.0, 1.0}, float16[1] b = {60000.0}, float16 s = {2.0}> {
          c = Gemm(x, w, b)
          y = Mul(c, s)
        }]],
      rejected = "a bias might overflow" },
    { "a large bias and a large summand", [[
        (float16[B,2] x) => (float16[B,1] y)
          <float16[2,1] w = {2.0, 1.0}, float16[1] b = {60000.0}, float16 t = {9000.0}> {
          c = Gemm(x, w, b)
          y = Add(c, t)
        }]],
      rejected = "a bias might overflow" },
    { "halves that stay small", [[
        (float16[B,2] x) => (float16[B,1] y) <float16[2,1] w = {60000.0, 1.0}, float16[1] b = {2.0}, float16 s = {0.5},
          float16 t = {4.0}> {
          c = Gemm(x, w, b)
          d = Mul(c, s)
          y = Add(d, t)
        }]],
      [[w2 = Constant <value = float16[2,1] {30000.0, 0.5}> ()
        b2 = Constant <value = float16[1] {5.0}> ()
        y = Gemm(x, w2, b2)]] },
    { "a number for each row", [[
        (float[3,2] x) => (float[3,2] y) <float[2,2] w = {1,2,3,4}, float[3,1] s = {1,2,4}> {
          c = Gemm(x, w)
          y = Mul(c, s)
        }]],
      rejected = "there is not one number for each channel" },
    { "a computed factor", [[
        (float[3,2] x, float[2] s) => (float[3,2] y) <float[2,2] w = {1,2,3,4}> {
          c = Gemm(x, w)
          y = Mul(c, s)
        }]],
      rejected = "a factor or summand is computed" },
    { "a computed mean", [[
        (float[B,1,4,4] x, float[2] mean) => (float[B,2,4,4] y) <float[2,1,1,1] w = {1.0, 2.0}, float[2] s = {3.0, 1.0},
          float[2] t = {1.0, 0.0}, float[2] variance = {3.99, 0.99}> {
          c = Conv(x, w)
          y = BatchNormalization <epsilon = 0.01> (c, s, t, mean, variance)
        }]],
      rejected = "a statistic is computed" },
    { "a product with a vector", [[
        (float[2,3] x) => (float[2] y) <float[3] w = {1,2,3}, float[2] s = {2,4}> {
          c = MatMul(x, w)
          y = Mul(c, s)
        }]],
      rejected = "the weight is a vector" },
    { "two layers of one weight", [[
        (float[B,3] x, float[B,3] z) => (float[B,3] y, float[B,3] d)
          <float[3,3] w = {1,2,3,4,5,6,7,8,9}, float s = {2.0}> {
          c = MatMul(x, w)
          y = Mul(c, s)
          d = MatMul(z, w)
        }]],
      rejected = "the weight has another reader" },
    { "a quotient of integers", [[
        (int32[B,2] x) => (int32[B,2] y) <int32[2,2] w = {1,2,3,4}, int32 s = {2}> {
          c = MatMul(x, w)
          y = Div(c, s)
        }]],
      rejected = "a quotient of integers is cut" },
    { "a product with a summand", [[
        (float[B,2] x) => (float[B,3] y) <float[2,3] w = {1,2,3,4,5,6}, float t = {2.0}> {
          c = MatMul(x, w)
          y = Add(c, t)
        }]],
      rejected = "a product has no summand" },
    { "a product of stacks", [[
        (float[2,3,2] x) => (float[2,3,2] y) <float[2,2,2] w = {1,2,3,4,5,6,7,8}, float s = {2.0}> {
          c = MatMul(x, w)
          y = Mul(c, s)
        }]],
      "w2 = Constant <value = float[2,2,2] {2,4,6,8,10,12,14,16}> () y = MatMul(x, w2)" },
  },
}
