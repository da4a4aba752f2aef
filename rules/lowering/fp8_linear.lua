--- A linear layer of floats of eight bits in standard ops.
local number = lib "number"

return rule {
  doc = [[ fp8_linear(x, w)   =>   (x x_scale) (w w_scale) + b    in float ]],
  phase = "target",

  match = function(op, x, w, x_scale, w_scale, b, dtype)
    w:shape "_ N"
    return op.tensor_cast.fp8_linear{x, w, x_scale, w_scale, maybe(b), out_dtype = dtype}
  end,

  where = function(m)
    number.need_float(m.dtype, m.x)
    number.need_weight_scale(m.w_scale, m.N)
    need(m.w_scale:rank() < 2, "the scale of the weight is not one for all or for each column", m.w_scale)
  end,

  rewrite = function(op, m)
    local x = op.Mul(number.float(op, m.x), number.float(op, m.x_scale))
    local w = op.Mul(number.float(op, m.w), number.float(op, m.w_scale))
    return number.product(op, x, w, m.b and number.float(op, m.b), m.dtype)
  end,

  examples = {
    { "a scale for each column", [[
        (float8e4m3fn[3,2] x, float8e4m3fn[2,4] w, float xs, float[4] ws, float[4] b) => (float[3,4] y) {
          y = tensor_cast.fp8_linear(x, w, xs, ws, b)
        }]],
      [[xf = Cast <to = 1> (x)
        xm = Mul(xf, xs)
        wf = Cast <to = 1> (w)
        wm = Mul(wf, ws)
        p = MatMul(xm, wm)
        y = Add(p, b)]] },
    { "a scale for all, a result of halves", [[
        (float8e4m3fn[3,2] x, float8e4m3fn[2,4] w, float[1] xs, float ws) => (float16[3,4] y) {
          y = tensor_cast.fp8_linear <out_dtype = 10> (x, w, xs, ws)
        }]],
      [[xf = Cast <to = 1> (x)
        xm = Mul(xf, xs)
        wf = Cast <to = 1> (w)
        wm = Mul(wf, ws)
        p = MatMul(xm, wm)
        y = Cast <to = 10> (p)]] },
    { "a scale for each group of rows", [[
        (float8e4m3fn[3,2] x, float8e4m3fn[2,4] w, float xs, float[2,4] ws) => (float[3,4] y) {
          y = tensor_cast.fp8_linear(x, w, xs, ws)
        }]],
      rejected = "the scale of the weight is not one for all or for each column" },
  },
}
