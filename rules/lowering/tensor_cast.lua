--- Ops of tensor_cast with one result in standard ops: norms, quantizers, quantized linear layers; its markers go.
return rule {
  doc = [[ an op of tensor_cast that one rank computes by itself   =>   its formula (docs/dialect.md) ]],
  phase = "target",

  match = function(op)
    local cast = op.tensor_cast
    return either(
      cast._internal_copy_region(any),
      cast._internal_mark_region_begin{any, inputs = any, attrs = any},
      cast._internal_mark_region_end{any, inputs = any, attrs = any},
      cast.rms_norm{any, inputs = any, attrs = any},
      cast.add_rms_norm{any, inputs = any, attrs = any},
      cast.quantize{any, inputs = any, attrs = any},
      cast.static_quant_linear{any, inputs = any, attrs = any},
      cast.static_quant_linear_int4{any, inputs = any, attrs = any},
      cast.fp8_linear{any, inputs = any, attrs = any},
      cast.mxfp4_linear{any, inputs = any, attrs = any}):as "call"
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "a norm of halves", [[
        (float16[3,2] x) => (float16[3,2] y) { y = tensor_cast.rms_norm <epsilon = 0.5> (x) }]],
      [[f = Cast <to = 1> (x)
        s = Mul(f, f)
        last = Constant <value = int64[1] {-1}> ()
        m = ReduceMean(s, last)
        e = Constant <value = float {0.5}> ()
        a = Add(m, e)
        r = Sqrt(a)
        n = Div(f, r)
        y = Cast <to = 10> (n)]] },
    { "markers", [[
        (float[3,2] x) => (float[3,2] y) {
          b = tensor_cast._internal_mark_region_begin <region_id = 1> (x)
          c = tensor_cast._internal_copy_region(b)
          r = Relu(c)
          e = tensor_cast._internal_mark_region_end <region_id = 1> (r)
          y = Tanh(e)
        }]],
      [[r = Relu(x)
        y = Tanh(r)]] },
    { "a float of eight bits", [[
        (float[3,2] x, float s) => (float8e4m3fn[3,2] y) { y = tensor_cast.quantize <out_dtype = 17> (x, s) }]],
      rejected = "out_dtype is not an integer type of 8 or 16 bits" },
  },
}
