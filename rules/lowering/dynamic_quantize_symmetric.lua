--- Quantizing by the largest number, in standard ops.
return rule {
  doc = [[ dynamic_quantize_symmetric(x)   =>   Cast(clip(Round(x / scale))), scale, where scale = max|x| / 127, 1 where that is 0 ]],
  phase = "target",

  match = function(op, x)
    local y, scale = op.tensor_cast.dynamic_quantize_symmetric{x, attrs = any, outputs = 2}
    return y:as "call", scale
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "of the whole, with a scale that nobody reads", [[
        (float[3,2] x) => (int8[3,2] y) { y = tensor_cast.dynamic_quantize_symmetric <dims : ints = []> (x) }]],
      [[a = Abs(x)
        t = ReduceMax <keepdims = 0> (a)
        most = Constant <value = float {127}> ()
        d = Div(t, most)
        zero = Constant <value = float {0}> ()
        e = Equal(d, zero)
        one = Constant <value = float {1}> ()
        s = Where(e, one, d)
        q = Div(x, s)
        r = Round(q)
        low = Constant <value = float {-127}> ()
        c1 = Min(r, most)
        c = Max(c1, low)
        y = Cast <to = 3> (c)]] },
    { "a float of eight bits", [[
        (float[3,2] x) => (float8e4m3fn[3,2] y) { y = tensor_cast.dynamic_quantize_symmetric <out_dtype = 17> (x) }]],
      rejected = "out_dtype is not an integer type of 8 or 16 bits" },
  },
}
