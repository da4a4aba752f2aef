--- Quantizing by the smallest and the largest number, in standard ops.
local number = lib "number"

return rule {
  doc = [[
    dynamic_quantize_asymmetric(x)
      =>   Cast(Clip(Round(x / scale) + offset)), scale, offset
           where low = min(min x, 0), scale = (max(max x, 0) - low) / 255, 1 where that is 0,
                 offset = Round(least - low / scale)

    Smallest and largest along `dims`, or of all.]],
  phase = "target",

  match = function(op, x, dims, dtype)
    return op.tensor_cast.dynamic_quantize_asymmetric{x, dims = dims, out_dtype = dtype, outputs = 3}
  end,

  where = function(m) m.least, m.most = number.range(m.dtype, m.x) end,

  rewrite = function(op, m)
    local x = number.wide(op, m.x)
    local low = op.Min(number.reduced(op, "ReduceMin", x, m.dims), 0)
    local high = op.Max(number.reduced(op, "ReduceMax", x, m.dims), 0)
    local scale = number.step(op, op.Sub(high, low), m.most - m.least)
    local step = number.narrow(op, scale, x)
    local offset = op.Round(op.Sub(m.least, op.Div(low, step)))
    local y = op.Add(op.Round(op.Div(x, step)), offset)
    return number.clipped(op, y, m.least, m.most, m.dtype), scale, op.Cast{offset, to = "int32"}
  end,

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
        c = Clip(a, zero, steps)
        y = Cast <to = 2> (c)
        o = Cast <to = 6> (offset)]] },
    { "of the whole", [[
        (float16[3,2] x) => (uint8[3,2] y) {
          y = tensor_cast.dynamic_quantize_asymmetric <dims : ints = [], out_dtype = 2> (x)
        }]],
      [[f = Cast <to = 1> (x)
        smallest = ReduceMin <keepdims = 0> (f)
        zero = Constant <value = float {0}> ()
        low = Min(smallest, zero)
        largest = ReduceMax <keepdims = 0> (f)
        high = Max(largest, zero)
        size = Sub(high, low)
        steps = Constant <value = float {255}> ()
        step = Div(size, steps)
        e = Equal(step, zero)
        one = Constant <value = float {1}> ()
        s = Where(e, one, step)
        q = Div(f, s)
        r = Round(q)
        lows = Div(low, s)
        from = Sub(zero, lows)
        offset = Round(from)
        a = Add(r, offset)
        c = Clip(a, zero, steps)
        y = Cast <to = 2> (c)]] },
    { "a float of eight bits", [[
        (float[3,2] x) => (float8e4m3fn[3,2] y) { y = tensor_cast.dynamic_quantize_asymmetric <out_dtype = 17> (x) }]],
      rejected = "out_dtype is no integer type of 8 or 16 bits" },
  },
}
