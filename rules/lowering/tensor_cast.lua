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
    { "floats of eight bits, a scale for each column", [[
        (float8e4m3fn[3,2] x, float8e4m3fn[2,4] w, float xs, float[4] ws, float[4] b) => (float[3,4] y) {
          y = tensor_cast.fp8_linear(x, w, xs, ws, b)
        }]],
      [[xf = Cast <to = 1> (x)
        xm = Mul(xf, xs)
        wf = Cast <to = 1> (w)
        wm = Mul(wf, ws)
        p = MatMul(xm, wm)
        y = Add(p, b)]] },
    { "floats of four bits in groups of two", [[
        (uint8[3,4] x, uint8[4,5] w, float[3,2] xs, float[2,5] ws) => (float[3,5] y) {
          y = tensor_cast.mxfp4_linear <group_size = 2> (x, w, xs, ws)
        }]],
      [[e2m1 = Constant <value = float[16] {0,0.5,1,1.5,2,3,4,6,-0.0,-0.5,-1,-1.5,-2,-3,-4,-6}> ()
        xi = Cast <to = 7> (x)
        xn = Gather(e2m1, xi)
        groups = Constant <value = int64[4] {0,0,1,1}> ()
        xw = Gather <axis = 1> (xs, groups)
        xm = Mul(xn, xw)
        wi = Cast <to = 7> (w)
        wn = Gather(e2m1, wi)
        ww = Gather(ws, groups)
        wm = Mul(wn, ww)
        y = MatMul(xm, wm)]] },
    { "a result of a float of eight bits", [[
        (float[3,2] x, float s) => (float8e4m3fn[3,2] y) { y = tensor_cast.quantize <out_dtype = 17> (x, s) }]],
      rejected = "out_dtype is not an integer type of 8 or 16 bits" },
  },
}
