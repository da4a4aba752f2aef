--- A linear layer of integers in standard ops.
local number = lib "number"

return rule {
  doc = [[
    static_quant_linear(x, w)        =>   ((x - x_offset) x_scale) ((w - w_offset) w_scale) + b
    static_quant_linear_int4(x, w)   =>   the same

    In float. Scale and offset of the weight are one for all, for each column, or for each column of each group of rows.]],
  phase = "target",

  match = function(op, x, w, w_scale, w_offset, x_scale, x_offset, b, dtype)
    w:shape "K N"
    return either(
      op.tensor_cast.static_quant_linear{x, w, w_scale, maybe(w_offset), maybe(x_scale), maybe(x_offset), maybe(b),
        out_dtype = dtype},
      op.tensor_cast.static_quant_linear_int4{x, w, w_scale, maybe(w_offset), maybe(x_scale), maybe(x_offset), maybe(b),
        out_dtype = dtype})
  end,

  where = function(m)
    number.need_float(m.dtype, m.x)
    number.need_weight_scale(m.w_scale, m.N)
    if m.w_offset then number.need_weight_scale(m.w_offset, m.N) end
  end,

  rewrite = function(op, m)
    local x, w = number.float(op, m.x), number.float(op, m.w)
    if m.x_offset then x = op.Sub(x, number.float(op, m.x_offset)) end
    if m.x_scale then x = op.Mul(x, number.float(op, m.x_scale)) end
    if m.w_offset then w = op.Sub(w, number.by_row(op, number.float(op, m.w_offset), m.K)) end
    w = op.Mul(w, number.by_row(op, number.float(op, m.w_scale), m.K))
    return number.product(op, x, w, m.b and number.float(op, m.b), m.dtype)
  end,

  examples = {
    { "all that there may be", [[
        (int8[3,2] x, int8[2,1] w, float[1] ws, int8[1] wo, float xs, int8 xo, float[1] b) => (float16[3,1] y) {
          y = tensor_cast.static_quant_linear <out_dtype = 10> (x, w, ws, wo, xs, xo, b)
        }]],
      [[xf = Cast <to = 1> (x)
        xof = Cast <to = 1> (xo)
        xd = Sub(xf, xof)
        xm = Mul(xd, xs)
        wf = Cast <to = 1> (w)
        wof = Cast <to = 1> (wo)
        wd = Sub(wf, wof)
        wm = Mul(wd, ws)
        p = MatMul(xm, wm)
        a = Add(p, b)
        y = Cast <to = 10> (a)]] },
    { "two groups of two rows", [[
        (int8[3,4] x, int8[4,5] w, float[2,5] ws) => (float[3,5] y) { y = tensor_cast.static_quant_linear_int4(x, w, ws) }]],
      [[xf = Cast <to = 1> (x)
        wf = Cast <to = 1> (w)
        one = Constant <value = int64[1] {1}> ()
        u = Unsqueeze(ws, one)
        wide = Constant <value = int64[3] {2,2,5}> ()
        e = Expand(u, wide)
        s = Constant <value = int64[2] {4,5}> ()
        r = Reshape(e, s)
        wm = Mul(wf, r)
        y = MatMul(xf, wm)]] },
    { "the scale of another weight", [[
        (int8[3,4] x, int8[4,5] w, float[6] ws) => (float[3,5] y) { y = tensor_cast.static_quant_linear(x, w, ws) }]],
      rejected = "the scale is of another weight" },
  },
}
