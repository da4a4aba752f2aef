--- Attention as an op of ONNX Runtime.
local fused = lib "fused_attention"
local heads = lib "heads"

return rule {
  doc = [[
    ScaledDotProductAttention(heads(q), heads(k), heads(v), mask)   =>   heads(MultiHeadAttention(q, k, v, bias))
    ScaledDotProductAttention(heads(q), k, v, mask)                 =>   heads(MultiHeadAttention(q, k, v, bias))

    A causal mask becomes unidirectional = 1. The op has tokens before heads in queries and results, and either order in
    keys and values. No Transpose is added, and no key head repeated: on CPUs both cost more than the op saves. The
    option gpu allows Transposes. The op has no soft cap.]],
  phase = "target",
  options = { gpu = false },
  after = "group_query_attention",

  match = function(op, q, k, v, mask, scale, causal, softcap, guarded, H)
    return fused.attention(op,
      {q = q, k = k, v = v, mask = mask, scale = scale, causal = causal, softcap = softcap, guarded = guarded, H = H})
  end,

  where = function(m, op)
    m.hides = fused.hides(op, m, function(found) return found.alone end)
    need(m.q.dtype == "float" or m.q.dtype == "float16", "MultiHeadAttention does not have this type", m.q)
    need(m.scale == nil or m.scale > 0, "the op has no scale of 0, which means the default, and no negative scale", m.q)
    need(m.softcap == 0, "MultiHeadAttention has no soft cap", m.q)
    need(not m.hides.causal or not m.hides.mask, "ONNX Runtime weighs later keys where a mask hides all earlier ones",
      m.mask)
    need(not m.hides.causal or m.S == m.L, "causal, and the sequences have different lengths", m.q)
    fused.need_widths(m)
    need(m.G == m.H, "costs more than it saves: heads of keys and values would be repeated", m.k)
    m.cut = fused.need_sizes(m)
    need(not m.cut, "costs more than it saves: queries would be repeated", m.mask)
    fused.need_no_moves(m, {m.q})
    fused.assume_numbers(m)
  end,

  rewrite = function(op, m)
    local bias, k, v = fused.bias(op, m), m.k, m.v
    if fused.tokens(k) and fused.tokens(v) then
      k, v = fused.rows(op, k, m.H, m.D), fused.rows(op, v, m.H, m.E)
    end
    local y = op["com.microsoft"].MultiHeadAttention{fused.rows(op, m.q, m.H, m.D), k, v, nil, nil, bias,
      num_heads = m.H, scale = m.scale, unidirectional = m.hides.causal and 1 or 0}
    return heads.split(op, fused.seen(op, y, m), m.H, m.E)
  end,

  examples = {
    { "a causal mask", [[
        (float[2,3,4,16] qt, float[2,3,4,16] kt, float[2,3,4,16] vt) => (float[2,3,4,16] yt)
        <float[3,3] mask = {0, -inf, -inf, 0, 0, -inf, 0, 0, 0}> {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[merged = Constant <value = int64[3] {0,0,64}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, merged)
        vm = Reshape(vt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, unidirectional = 1> (qm, km, vm)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "without a mask", [[
        (float[2,8,4,16] qt, float[2,8,4,16] kt, float[2,8,4,16] vt) => (float[2,8,4,16] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[merged = Constant <value = int64[3] {0,0,64}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, merged)
        vm = Reshape(vt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (qm, km, vm)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]] },
    { "a mask of booleans", [[
        (float[2,8,4,16] qt, float[2,8,4,16] kt, float[2,8,4,16] vt, bool[2,1,8,8] mask) => (float[2,8,4,16] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[number = Cast <to = 1> (mask)
        bias = Log(number)
        merged = Constant <value = int64[3] {0,0,64}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, merged)
        vm = Reshape(vt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (qm, km, vm, "", "", bias)
        n = IsNaN(a)
        zero = Constant <value = float {0.0}> ()
        w = Where(n, zero, a)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(w, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "a mask that leaves something of what it hides", [[
        (float[2,8,4,16] qt, float[2,8,4,16] kt, float[2,8,4,16] vt, bool[8,8] seen) => (float[2,8,4,16] yt)
        <float no = {-3.4028234e38}, float yes = {0.0}> {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          mask = Where(seen, yes, no)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[yes2 = Constant <value = float {0.0}> ()
        no2 = Constant <value = float {-3.4028234e38}> ()
        mask = Where(seen, yes2, no2)
        axes = Constant <value = int64[2] {0,1}> ()
        bias = Unsqueeze(mask, axes)
        merged = Constant <value = int64[3] {0,0,64}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, merged)
        vm = Reshape(vt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (qm, km, vm, "", "", bias)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]] },
    { "a mask that leaves nothing", [[
        (float[2,8,4,16] qt, float[2,8,4,16] kt, float[2,8,4,16] vt, bool[8,8] seen) => (float[2,8,4,16] yt)
        <float no = {-inf}, float yes = {0.0}> {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          mask = Where(seen, yes, no)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[yes2 = Constant <value = float {0.0}> ()
        no2 = Constant <value = float {-inf}> ()
        mask = Where(seen, yes2, no2)
        axes = Constant <value = int64[2] {0,1}> ()
        bias = Unsqueeze(mask, axes)
        merged = Constant <value = int64[3] {0,0,64}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, merged)
        vm = Reshape(vt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (qm, km, vm, "", "", bias)
        n = IsNaN(a)
        zero = Constant <value = float {0.0}> ()
        w = Where(n, zero, a)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(w, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]] },
    { "keys and values of a cache stay as they are, nothing is known of what a query gives that sees no key", [[
        (float[2,S,4,16] qt, float[2,4,L,16] k, float[2,4,L,16] v, bool[2,1,S,L] mask) => (float[2,S,4,16] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, guarded = 0> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[number = Cast <to = 1> (mask)
        bias = Log(number)
        merged = Constant <value = int64[3] {0,0,64}> ()
        qm = Reshape(qt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4> (qm, k, v, "", "", bias)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "heads before tokens, which the op has not", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      rejected = "costs more than it saves: 2 Transposes" },
    { "the same on a GPU", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      [[merged = Constant <value = int64[3] {0,0,64}> ()
        qt = Transpose <perm = [0,2,1,3]> (q)
        qm = Reshape(qt, merged)
        a = com.microsoft.MultiHeadAttention <num_heads = 4> (qm, k, v)
        split = Constant <value = int64[4] {0,0,4,16}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)]], options = { gpu = true } },
    { "fewer heads of keys and values", [[
        (float[2,8,4,16] qt, float[2,2,8,16] k, float[2,2,8,16] v) => (float[2,8,4,16] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      rejected = "costs more than it saves: heads of keys and values would be repeated" },
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
