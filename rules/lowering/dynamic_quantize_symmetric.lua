--- Quantizing by the largest number, in standard ops.
local number = lib "number"

return rule {
  doc = [[
    dynamic_quantize_symmetric(x)   =>   Cast(Clip(Round(x / scale))), scale
                                         where scale = max|x| / 127, 1 where that is 0

    The largest number along `dims`, or of all.]],
  phase = "target",

  match = function(op, x, dims, dtype)
    return op.tensor_cast.dynamic_quantize_symmetric{x, dims = dims, out_dtype = dtype, outputs = 2}
  end,

  where = function(m)
    local _, most = number.range(m.dtype, m.x)
    m.most = most
  end,

  rewrite = function(op, m)
    local x = number.wide(op, m.x)
    local scale = number.step(op, number.reduced(op, "ReduceMax", op.Abs(x), m.dims), m.most)
    local y = op.Round(op.Div(x, number.narrow(op, scale, x)))
    return number.clipped(op, y, -m.most, m.most, m.dtype), scale
  end,

  examples = {
    { "along the last axis", [[
        (float[3,2] x) => (int8[3,2] y, float[3,1] s) { y, s = tensor_cast.dynamic_quantize_symmetric(x) }]],
      [[a = Abs(x)
        last = Constant <value = int64[1] {-1}> ()
        t = ReduceMax <keepdims = 1> (a, last)
        zero = Constant <value = float {0}> ()
        one = Constant <value = float {1}> ()
        most = Constant <value = float {127}> ()
        d = Div(t, most)
        e = Equal(d, zero)
        s = Where(e, one, d)
        q = Div(x, s)
        r = Round(q)
        low = Constant <value = float {-127}> ()
        c = Clip(r, low, most)
        y = Cast <to = 3> (c)]] },
    { "of the whole", [[
        (float[3,2] x) => (int8[3,2] y) { y = tensor_cast.dynamic_quantize_symmetric <dims : ints = []> (x) }]],
      [[a = Abs(x)
        t = ReduceMax <keepdims = 0> (a)
        zero = Constant <value = float {0}> ()
        one = Constant <value = float {1}> ()
        most = Constant <value = float {127}> ()
        d = Div(t, most)
        e = Equal(d, zero)
        s = Where(e, one, d)
        q = Div(x, s)
        r = Round(q)
        low = Constant <value = float {-127}> ()
        c = Clip(r, low, most)
        y = Cast <to = 3> (c)]] },
  },
}
