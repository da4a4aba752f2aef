--- Quantizing by the smallest and the largest number, in standard ops.
return rule {
  doc = [[
    dynamic_quantize_asymmetric(x)
      =>   Cast(clip(Round(x / scale) + offset)), scale, offset
           where low = min(min x, 0), scale = (max(max x, 0) - low) / 255, 1 where that is 0,
                 offset = Round(least - low / scale)]],
  phase = "target",

  match = function(op, x)
    local q, scale, offset = op.tensor_cast.dynamic_quantize_asymmetric{x, attrs = any, outputs = 3}
    return q:as "call", scale, offset
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "along the last axis", [[
        (float[3,2] x) => (uint8[3,2] y, float[3,1] s, int32[3,1] o) {
          y, s, o = tensor_cast.dynamic_quantize_asymmetric <out_dtype = 2> (x)
        }]],
      [[last = Constant <value = int64[1] {-1}> ()
        smallest = ReduceMin <keepdims = 1> (x, last)
        zero = Constant <value = float {0}> ()
        low = Min(smallest, zero)
        largest = ReduceMax <keepdims = 1> (x, last)
        high = Max(largest, zero)
        size = Sub(high, low)
        steps = Constant <value = float {255}> ()
        step = Div(size, steps)
        e = Equal(step, zero)
        one = Constant <value = float {1}> ()
        s = Where(e, one, step)
        q = Div(x, s)
        r = Round(q)
        lows = Div(low, s)
        from = Sub(zero, lows)
        offset = Round(from)
        a = Add(r, offset)
        c1 = Min(a, steps)
        c = Max(c1, zero)
        y = Cast <to = 2> (c)
        o = Cast <to = 6> (offset)]] },
    { "a float of eight bits", [[
        (float[3,2] x) => (float8e4m3fn[3,2] y) { y = tensor_cast.dynamic_quantize_asymmetric <out_dtype = 17> (x) }]],
      rejected = "out_dtype is not an integer type of 8 or 16 bits" },
  },
}
