--- Attention as an op of ONNX Runtime.
local fused = lib "fused_attention"
local heads = lib "heads"

return rule {
  doc = [[
    ScaledDotProductAttention(q, k, v, mask)   =>   heads(MultiHeadAttention(merged q, merged k, merged v, bias))

    Key heads of several query heads are repeated. The op has no soft cap.]],
  phase = "target",
  after = "group_query_attention",

  match = function(op, q, k, v, mask, scale, causal, softcap, H)
    return fused.attention(op, {q = q, k = k, v = v, mask = mask, scale = scale, causal = causal, softcap = softcap, H = H})
  end,

  where = function(m)
    need(m.q.dtype == "float" or m.q.dtype == "float16", "MultiHeadAttention does not have this type", m.q)
    need(m.scale == nil or m.scale > 0, "the op has no scale of 0, which means the default, and no negative scale", m.q)
    need(m.softcap == 0, "MultiHeadAttention has no soft cap", m.q)
    need(m.causal == 0 or not m.mask, "ONNX Runtime weighs later keys where a mask hides all earlier ones", m.mask)
    need(m.causal == 0 or m.S == m.L, "causal, and the sequences have different lengths", m.q)
    fused.need_widths(m)
    m.cut = fused.need_sizes(m)
    fused.assume_numbers(m)
  end,

  rewrite = function(op, m)
    local bias = fused.bias(op, m)
    local y = op["com.microsoft"].MultiHeadAttention{heads.merged(op, fused.queries(op, m, m.cut), m.H, m.D),
      heads.merged(op, m.k, m.H, m.D, m.G), heads.merged(op, m.v, m.H, m.E, m.G), nil, nil, bias,
      num_heads = m.H, scale = m.scale, unidirectional = m.causal ~= 0 and 1 or 0}
    return heads.split(op, fused.seen(op, y, m.mask), m.H, m.E)
  end,

  examples = {
    { "without a mask", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v)
        }]],
      [[merged = Constant <value = int64[3] {0,0,64}> ()
        qt = Transpose <perm = [0,2,1,3]> (q)
        qm = Reshape(qt, merged)
        kt = Transpose <perm = [0,2,1,3]> (k)
        km = Reshape(kt, merged)
        vt = Transpose <perm = [0,2,1,3]> (v)
        vm = Reshape(vt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (qm, km, vm)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)]] },
    { "a mask of booleans, two key heads for four", [[
        (float[2,4,8,16] q, float[2,2,8,16] k, float[2,2,8,16] v, bool[2,1,8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      [[number = Cast <to = 1> (mask)
        bias = Log(number)
        merged = Constant <value = int64[3] {0,0,64}> ()
        qt = Transpose <perm = [0,2,1,3]> (q)
        qm = Reshape(qt, merged)
        serves = Constant <value = int64[4] {0,0,1,1}> ()
        kt = Transpose <perm = [0,2,1,3]> (k)
        kg = Gather <axis = 2> (kt, serves)
        km = Reshape(kg, merged)
        vt = Transpose <perm = [0,2,1,3]> (v)
        vg = Gather <axis = 2> (vt, serves)
        vm = Reshape(vg, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (qm, km, vm, "", "", bias)
        n = IsNaN(a)
        zero = Constant <value = float {0.0}> ()
        w = Where(n, zero, a)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(w, split)
        y = Transpose <perm = [0,2,1,3]> (s)]], assumed = "no score is NaN or infinite" },
    { "a mask that leaves something of what it hides", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[8,8] seen) => (float[2,4,8,16] y)
        <float no = {-3.4028234e38}, float yes = {0.0}> {
          mask = Where(seen, yes, no)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      [[yes2 = Constant <value = float {0.0}> ()
        no2 = Constant <value = float {-3.4028234e38}> ()
        mask = Where(seen, yes2, no2)
        axes = Constant <value = int64[2] {0,1}> ()
        bias = Unsqueeze(mask, axes)
        merged = Constant <value = int64[3] {0,0,64}> ()
        qt = Transpose <perm = [0,2,1,3]> (q)
        qm = Reshape(qt, merged)
        kt = Transpose <perm = [0,2,1,3]> (k)
        km = Reshape(kt, merged)
        vt = Transpose <perm = [0,2,1,3]> (v)
        vm = Reshape(vt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (qm, km, vm, "", "", bias)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)]] },
    { "a mask that leaves nothing", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[8,8] seen) => (float[2,4,8,16] y)
        <float no = {-inf}, float yes = {0.0}> {
          mask = Where(seen, yes, no)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      [[yes2 = Constant <value = float {0.0}> ()
        no2 = Constant <value = float {-inf}> ()
        mask = Where(seen, yes2, no2)
        axes = Constant <value = int64[2] {0,1}> ()
        bias = Unsqueeze(mask, axes)
        merged = Constant <value = int64[3] {0,0,64}> ()
        qt = Transpose <perm = [0,2,1,3]> (q)
        qm = Reshape(qt, merged)
        kt = Transpose <perm = [0,2,1,3]> (k)
        km = Reshape(kt, merged)
        vt = Transpose <perm = [0,2,1,3]> (v)
        vm = Reshape(vt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (qm, km, vm, "", "", bias)
        n = IsNaN(a)
        zero = Constant <value = float {0.0}> ()
        w = Where(n, zero, a)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(w, split)
        y = Transpose <perm = [0,2,1,3]> (s)]] },
    { "a soft cap", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, softcap = 50.0> (q, k, v)
        }]],
      rejected = "MultiHeadAttention has no soft cap" },
    { "in doubles", [[
        (double[2,4,8,16] q, double[2,4,8,16] k, double[2,4,8,16] v) => (double[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v)
        }]],
      rejected = "MultiHeadAttention does not have this type" },
    { "no queries", [[
        (float[2,4,0,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,0,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      rejected = "there are no queries or no keys" },
    { "causal, and a mask", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[2,1,8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, is_causal = 1> (q, k, v, mask)
        }]],
      rejected = "weighs later keys" },
  },
}
