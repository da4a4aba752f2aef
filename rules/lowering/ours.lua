--- Write ops that have a meaning in standard ops.
local FOREIGN = { [""] = true, ["com.microsoft"] = true }
local ATTENTION = { AttentionForward = true, ScaledDotProductAttention = true, scaled_dot_product_attention = true }

return rule {
  doc = [[
    an op of the engine's own, or of ONNX Runtime's   =>   its formula (docs/dialect.md)

    Known sizes and attributes of the call become constants. Options leave some ops unchanged: `attention` those with
    fused forms in targets, `tensor_cast` and `onnxruntime` those of that runtime. Weights that `MatMulNBits` reads stay
    packed.]],
  phase = "target",
  options = { attention = true, tensor_cast = true, onnxruntime = false },

  match = function(op)
    return op.ours{any, inputs = any, attrs = any, outputs = any}:as "call"
  end,

  where = function(m)
    local call, options = m.call, m.options
    need(options.tensor_cast or call.domain ~= "tensor_cast", "the target reads ops of tensor_cast", call)
    need(options.onnxruntime or not FOREIGN[call.domain], "the target reads ops of ONNX Runtime", call)
    need(call.op ~= "MatMulNBits", "its weights would no longer be packed", call)
    need(options.attention or not ATTENTION[call.op], "the target has no fused form for this attention", call)
  end,

  rewrite = function(_, m)
    local old, new = m.call.outputs, {m.call:inline()}
    for i = 2, #old do
      if old[i] and new[i] then old[i]:replace_with(new[i]) end
    end
    return new[1]
  end,

  examples = {
    { "a mask of booleans", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[2,1,1,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v, mask)
        }]],
      [[kt = Transpose <perm = [0,1,3,2]> (k)
        c = Constant <value = float {0.25}> ()
        qs = Mul(q, c)
        s = MatMul(qs, kt)
        never = Constant <value = float {-inf}> ()
        w = Where(mask, s, never)
        p = Softmax <axis = 3> (w)
        n = IsNaN(p)
        zero = Constant <value = float {0.0}> ()
        g = Where(n, zero, p)
        y = MatMul(g, v)]] },
    { "two key heads for four, without a guard", [[
        (float[2,4,8,16] q, float[2,2,8,16] k, float[2,2,8,16] v, float[8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, guarded = 0> (q, k, v, mask)
        }]],
      [[c = Constant <value = float {0.25}> ()
        qs = Mul(q, c)
        together = Constant <value = int64[4] {0,2,16,0}> ()
        apart = Constant <value = int64[4] {0,4,8,0}> ()
        qg = Reshape(qs, together)
        kt = Transpose <perm = [0,1,3,2]> (k)
        s = MatMul(qg, kt)
        sh = Reshape(s, apart)
        m = Add(sh, mask)
        p = Softmax <axis = 3> (m)
        pg = Reshape(p, together)
        yg = MatMul(pg, v)
        y = Reshape(yg, apart)]] },
    { "one key head for all, and perhaps more queries than keys: then the scores are scaled", [[
        (float[B,4,S,16] q, float[B,1,L,16] k, float[B,1,L,8] v) => (float[B,4,S,8] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8> (q, k, v)
        }]],
      [[axis = Constant <value = int64[1] {2}> ()
        four = Constant <value = int64[1] {4}> ()
        first = Constant <value = int64[2] {0,1}> ()
        heads = Constant <value = int64[2] {0,4}> ()
        last = Constant <value = int64[1] {0}> ()
        shape = Shape(q)
        rows = Gather <axis = 0> (shape, axis)
        all = Mul(rows, four)
        together = Concat <axis = 0> (first, all, last)
        qg = Reshape(q, together)
        kt = Transpose <perm = [0,1,3,2]> (k)
        s = MatMul(qg, kt)
        apart = Concat <axis = 0> (heads, rows, last)
        sh = Reshape(s, apart)
        c = Constant <value = float {0.25}> ()
        ss = Mul(sh, c)
        p = Softmax <axis = 3> (ss)
        pg = Reshape(p, together)
        yg = MatMul(pg, v)
        y = Reshape(yg, apart)]] },
    { "attention of a target that has fused forms", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      rejected = "the target has no fused form for this attention", options = { attention = false } },
    { "a norm of a runtime that reads it", [[
        (float[3,2] x) => (float[3,2] y) { y = tensor_cast.rms_norm(x) }]],
      rejected = "the target reads ops of tensor_cast", options = { tensor_cast = false } },
    { "a norm of ONNX Runtime", [[
        (float[3,2] x, float[2] w) => (float[3,2] y) { y = com.microsoft.SkipLayerNormalization(x, x, w) }]],
      rejected = "the target reads ops of ONNX Runtime" },
    { "packed weights", [[
        (float[3,16] x, float[2] s) => (float[3,2] y) <uint8[2,1,8] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}> {
          y = com.microsoft.MatMulNBits <K = 16, N = 2, bits = 4, block_size = 16> (x, w, s)
        }]],
      rejected = "its weights would no longer be packed", options = { onnxruntime = true } },
    { "of the standard already", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) { y = Attention(q, k, v) }]],
      "y = Attention(q, k, v)" },
    { "one source, one unused part", [[
        (float[1,3,2] x) => (float[1,2,3,1] q, float[1,2,3,1] k)
        <float[6,2] w = {1,2,3,4,5,6,7,8,9,10,11,12}> {
          q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, x, x, w)
        }]],
      [[wt = Constant <value = float[2,6] {1,3,5,7,9,11,2,4,6,8,10,12}> ()
        y = MatMul(x, wt)
        parts = Constant <value = int64[3] {2,2,2}> ()
        fq, fk, fv = Split <axis = 2> (y, parts)
        s = Constant <value = int64[4] {0,0,2,1}> ()
        hq = Reshape(fq, s)
        q = Transpose <perm = [0,2,1,3]> (hq)
        hk = Reshape(fk, s)
        k = Transpose <perm = [0,2,1,3]> (hk)]] },
    { "heads of no size", [[
        (float[1,3,2] x, float[6,2] w) => (float[1,2,3,1] q) {
          q, k, v = ruleengine.MHAInProjection <num_heads = 0, head_dim = 1> (x, x, x, w)
        }]],
      rejected = "num_heads and head_dim are not two positive numbers" },
    { "a linear layer", [[
        (float[3,2] x, float[1] b) => (float[3,1] y) <float[1,2] w = {1,2}> { y = ruleengine.Linear(x, w, b) }]],
      [[wt = Constant <value = float[2,1] {1,2}> ()
        p = MatMul(x, wt)
        y = Add(p, b)]] },
    { "one window, which needs no roll", [[
        (float[2,2,4,3] q, float[2,2,4,3] k, float[2,2,4,3] v, float[9,2] table, int64[16] index) => (float[2,4,6] y)
        <int64[7] spatial = {2,2,2,2,2,0,0}> {
          y = ruleengine.SwinAttention <window_size = [2,2], num_heads = 2, head_dim = 3>
            (q, k, v, table, index, spatial)
        }]],
      [[flat = Constant <value = int64[1] {-1}> ()
        i = Reshape(index, flat)
        g = Gather <axis = 0> (table, i)
        s = Constant <value = int64[3] {4,4,-1}> ()
        r = Reshape(g, s)
        t = Transpose <perm = [2,0,1]> (r)
        first = Constant <value = int64[1] {0}> ()
        b = Unsqueeze(t, first)
        a = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 3> (q, k, v, b)
        u = Transpose <perm = [0,2,1,3]> (a)
        m = Constant <value = int64[3] {0,0,6}> ()
        y = Reshape(u, m)]],
      options = { attention = false } },
    { "windows of no size", [[
        (float[9,3] table, int64[0] index) => (float[] y) {
          y = ruleengine.RelativePositionBias <window_size = [2,0]> (table, index)
        }]],
      rejected = "window_size is not two positive numbers" },
    { "neither padded nor rolled", [[
        (float[2,2,4,5] x) => (float[4,4,5] windows, int64[7] spatial) {
          windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,2]> (x)
        }]],
      [[s = Constant <value = int64[6] {0,1,2,2,2,5}> ()
        c = Reshape(x, s)
        t = Transpose <perm = [0,1,3,2,4,5]> (c)
        f = Constant <value = int64[3] {-1,4,5}> ()
        windows = Reshape(t, f)
        said = Constant <value = int64[7] {2,2,4,2,4,0,0}> ()
        spatial = Identity(said)]] },
    { "a shift of three numbers", [[
        (float[2,2,4,5] x) => (float[4,4,5] windows, int64[7] spatial) {
          windows, spatial = ruleengine.SwinWindowPartition <window_size = [2,2], shift_size = [1,1,1]> (x)
        }]],
      rejected = "shift_size is not two numbers of 0 or more" },
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
    { "both are read", [[
        (float[3,2] x, float[3,2] r, float[2] w) => (float[3,2] y, float[3,2] s) {
          y, s = tensor_cast.add_rms_norm2 <epsilon = 0.5> (x, r, w)
        }]],
      [[s = Add(x, r)
        last = Constant <value = int64[1] {-1}> ()
        q = Mul(s, s)
        m = ReduceMean(q, last)
        e = Constant <value = float {0.5}> ()
        a = Add(m, e)
        t = Sqrt(a)
        n = Div(s, t)
        y = Mul(n, w)]] },
    { "a residual with another axis", [[
        (float[3,2] x, float[1,3,2] r, float[2] w) => (float[3,2] y, float[3,2] s) {
          y, s = tensor_cast.add_rms_norm2(x, r, w)
        }]],
      rejected = "shape" },
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
    { "of the whole, with an unused scale", [[
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
    { "a float of eight bits, by the largest number", [[
        (float[3,2] x) => (float8e4m3fn[3,2] y) { y = tensor_cast.dynamic_quantize_symmetric <out_dtype = 17> (x) }]],
      rejected = "out_dtype is not an integer type of 8 or 16 bits" },
    { "groups of no size", [[
        (float[3,32] x) => (uint8[3,32] y) { y = tensor_cast.dynamic_quantize_mxfp4 <group_size = 0> (x) }]],
      rejected = "the groups are not known" },
  },
}
