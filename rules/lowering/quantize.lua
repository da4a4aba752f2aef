--- Quantizing with a scale that is given, in standard ops.
local number = lib "number"

return rule {
  doc = [[ quantize(x, scale, offset)   =>   Cast(Clip(Round(x / scale + offset))) ]],
  phase = "target",

  match = function(op, x, scale, offset, dtype)
    return op.tensor_cast.quantize{x, scale, maybe(offset), out_dtype = dtype}
  end,

  where = function(m) m.least, m.most = number.range(m.dtype, m.x) end,

  rewrite = function(op, m)
    local y = op.Div(number.wide(op, m.x), number.wide(op, m.scale))
    if m.offset then y = op.Add(y, number.wide(op, m.offset)) end
    return number.clipped(op, op.Round(y), m.least, m.most, m.dtype)
  end,

  examples = {
    { "a scale and an offset for each column", [[
        (float16[3,2] x, float[2] s, int32[2] o) => (uint8[3,2] y) { y = tensor_cast.quantize <out_dtype = 2> (x, s, o) }]],
      [[f = Cast <to = 1> (x)
        d = Div(f, s)
        of = Cast <to = 1> (o)
        a = Add(d, of)
        r = Round(a)
        low = Constant <value = float {0}> ()
        high = Constant <value = float {255}> ()
        c = Clip(r, low, high)
        y = Cast <to = 2> (c)]] },
    { "a float of eight bits", [[
        (float[3,2] x, float s) => (float8e4m3fn[3,2] y) { y = tensor_cast.quantize <out_dtype = 17> (x, s) }]],
      rejected = "out_dtype is no integer type of 8 or 16 bits" },
  },
}
