--- Attention with fewer key heads than query heads, and other forms that only this op of ONNX Runtime has.
local fused = lib "fused_attention"
local heads = lib "heads"

return rule {
  doc = [[
    ScaledDotProductAttention(heads(q), heads(k), heads(v), mask)
      =>   heads(GroupQueryAttention(q, k, v, lengths, bias))

    For causal attention with fewer key than query heads (which are not repeated), with a boolean mask, or with a soft
    cap. A causal mask goes. With the option gpu a mask that hides more than later keys makes attention causal too, and
    stays: on CPUs that takes up to 1.07 times as long. Attention that is not causal becomes MultiHeadAttention, since
    only ONNX Runtime of 2026 has the attribute. Older versions need all three outputs. The op has tokens before heads.
    No Transpose is added, unless the option gpu allows it.]],
  phase = "target",
  options = { gpu = false },

  match = function(op, q, k, v, mask, scale, causal, softcap, guarded, H)
    return fused.attention(op,
      {q = q, k = k, v = v, mask = mask, scale = scale, causal = causal, softcap = softcap, guarded = guarded, H = H})
  end,

  where = function(m, op)
    fused.need_widths(m)
    local function takes(found) return (found.alone or m.options.gpu) and (m.G < m.H or m.softcap ~= 0) end
    m.hides = fused.hides(op, m, takes)
    local mask = m.hides.mask
    need(m.q.dtype == "float" or m.q.dtype == "float16", "GroupQueryAttention does not have this type", m.q)
    need(m.scale == nil or m.scale > 0, "the op has no scale of 0, which means the default, and no negative scale", m.q)
    need(m.softcap >= 0, "the soft cap is negative", m.q)
    need(m.hides.causal,
      "only causal attention: MultiHeadAttention has the others, and older runtimes have no soft cap there", m.q)
    need(not mask or m.hides.found or mask.dtype == "bool",
      "ONNX Runtime weighs later keys where a mask hides all earlier ones", mask)
    need(m.softcap ~= 0 or mask or m.G < m.H, "there are as many key heads as query heads", m.k)
    need(m.S == m.L, "queries and keys have different lengths", m.q)
    need(m.q:dim(0) ~= 0, "the batch is empty", m.q)
    need(m.D == m.E and m.D % 8 == 0, "GroupQueryAttention needs heads of one width, a multiple of 8", m.q)
    need(not fused.need_sizes(m), "the mask may have more rows than there are queries", m.mask)
    fused.need_no_moves(m, {m.q, m.k, m.v})
    fused.assume_numbers(m)
  end,

  rewrite = function(op, m)
    local length, batch = fused.length(op, m.q), op.Shape{fused.tokens(m.q) or m.q, start = 0, ["end"] = 1}
    local total = op.Cast{length, to = "int32"}
    local last = op.Expand(op.Cast{op.Sub(length, 1), to = "int32"}, batch)
    local bias = fused.bias(op, m)
    local y = op["com.microsoft"].GroupQueryAttention{fused.rows(op, m.q, m.H, m.D),
      fused.rows(op, m.k, m.G, m.D), fused.rows(op, m.v, m.G, m.D), nil, nil, last, total, nil, nil, nil, bias,
      num_heads = m.H, kv_num_heads = m.G, scale = m.scale, softcap = m.softcap, outputs = 3}
    return heads.split(op, fused.seen(op, y, m), m.H, m.E)
  end,

  examples = {
    { "two key heads for four", [[
        (float[2,6,4,8] qt, float[2,6,2,8] kt, float[2,6,2,8] vt) => (float[2,6,4,8] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, is_causal = 1> (q, k, v)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[merged = Constant <value = int64[3] {0,0,32}> ()
        grouped = Constant <value = int64[3] {0,0,16}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, grouped)
        vm = Reshape(vt, grouped)
        last = Constant <value = int32[2] {5,5}> ()
        total = Constant <value = int32[1] {6}> ()
        a = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (qm, km, vm, "", "", last, total)
        split = Constant <value = int64[4] {0,0,4,8}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "and a mask", [[
        (float[2,6,4,8] qt, float[2,6,4,8] kt, float[2,6,4,8] vt, bool[2,1,1,6] mask) => (float[2,6,4,8] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, is_causal = 1> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[merged = Constant <value = int64[3] {0,0,32}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, merged)
        vm = Reshape(vt, merged)
        last = Constant <value = int32[2] {5,5}> ()
        total = Constant <value = int32[1] {6}> ()
        number = Cast <to = 1> (mask)
        hiding = Log(number)
        lengths = Constant <value = int64[4] {1,1,6,6}> ()
        bias = Expand(hiding, lengths)
        a = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4>
          (qm, km, vm, "", "", last, total, "", "", "", bias)
        n = IsNaN(a)
        zero = Constant <value = float {0.0}> ()
        w = Where(n, zero, a)
        split = Constant <value = int64[4] {0,0,4,8}> ()
        s = Reshape(w, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "a mask that hides later keys, and padding", [[
        (float[2,3,4,8] qt, float[2,3,2,8] kt, float[2,3,2,8] vt, bool[2,1,1,3] tokens) => (float[2,3,4,8] yt)
        <bool[3,3] seen = {1, 0, 0, 1, 1, 0, 1, 1, 1}, float keep = {0.0}, float hide = {-inf}> {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          shown = And(seen, tokens)
          mask = Where(shown, keep, hide)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, guarded = 0> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[merged = Constant <value = int64[3] {0,0,32}> ()
        grouped = Constant <value = int64[3] {0,0,16}> ()
        shown = And(seen, tokens)
        mask = Where(shown, keep, hide)
        qm = Reshape(qt, merged)
        km = Reshape(kt, grouped)
        vm = Reshape(vt, grouped)
        last = Constant <value = int32[2] {2,2}> ()
        total = Constant <value = int32[1] {3}> ()
        a = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2>
          (qm, km, vm, "", "", last, total, "", "", "", mask)
        split = Constant <value = int64[4] {0,0,4,8}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite", options = { gpu = true } },
    { "the same on a CPU", [[
        (float[2,3,4,8] qt, float[2,3,2,8] kt, float[2,3,2,8] vt, bool[2,1,1,3] tokens) => (float[2,3,4,8] yt)
        <bool[3,3] seen = {1, 0, 0, 1, 1, 0, 1, 1, 1}> {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          mask = And(seen, tokens)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      rejected = "only causal attention" },
    { "a causal mask", [[
        (float[2,3,4,8] qt, float[2,3,2,8] kt, float[2,3,2,8] vt) => (float[2,3,4,8] yt)
        <bool[3,3] seen = {1, 0, 0, 1, 1, 0, 1, 1, 1}> {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8> (q, k, v, seen)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[merged = Constant <value = int64[3] {0,0,32}> ()
        grouped = Constant <value = int64[3] {0,0,16}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, grouped)
        vm = Reshape(vt, grouped)
        last = Constant <value = int32[2] {2,2}> ()
        total = Constant <value = int32[1] {3}> ()
        a = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (qm, km, vm, "", "", last, total)
        split = Constant <value = int64[4] {0,0,4,8}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "a soft cap", [[
        (float[2,6,4,8] qt, float[2,6,2,8] kt, float[2,6,2,8] vt) => (float[2,6,4,8] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, is_causal = 1, softcap = 30.0,
            scale = 0.25> (q, k, v)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[merged = Constant <value = int64[3] {0,0,32}> ()
        grouped = Constant <value = int64[3] {0,0,16}> ()
        qm = Reshape(qt, merged)
        km = Reshape(kt, grouped)
        vm = Reshape(vt, grouped)
        last = Constant <value = int32[2] {5,5}> ()
        total = Constant <value = int32[1] {6}> ()
        a = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, softcap = 30.0, scale = 0.25>
          (qm, km, vm, "", "", last, total)
        split = Constant <value = int64[4] {0,0,4,8}> ()
        s = Reshape(a, split)
        y = Transpose <perm = [0,2,1,3]> (s)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "heads before tokens, which the op has not", [[
        (float[2,4,6,8] q, float[2,2,6,8] k, float[2,2,6,8] v) => (float[2,4,6,8] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, is_causal = 1> (q, k, v)
        }]],
      rejected = "costs more than it saves: 4 Transposes" },
    { "neither causal nor capped", [[
        (float[2,4,6,8] q, float[2,2,6,8] k, float[2,2,6,8] v) => (float[2,4,6,8] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8> (q, k, v)
        }]],
      rejected = "only causal attention" },
    { "a soft cap that is not causal", [[
        (float[2,4,6,8] q, float[2,2,6,8] k, float[2,2,6,8] v) => (float[2,4,6,8] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, softcap = 30.0> (q, k, v)
        }]],
      rejected = "older runtimes have no soft cap there" },
    { "a mask of numbers", [[
        (float[2,4,6,8] q, float[2,2,6,8] k, float[2,2,6,8] v, float[6,6] mask) => (float[2,4,6,8] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, is_causal = 1> (q, k, v, mask)
        }]],
      rejected = "ONNX Runtime weighs later keys where a mask hides all earlier ones" },
    { "rows of a mask that are counted otherwise than queries", [[
        (float[2,4,S,8] q, float[2,2,S,8] k, float[2,2,S,8] v, bool[A,S] m1, bool[C,S] m2) => (float[2,4,R,8] y) {
          mask = Concat <axis = 0> (m1, m2)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, is_causal = 1> (q, k, v, mask)
        }]],
      rejected = "the mask may have more rows than there are queries" },
    { "as many of each", [[
        (float[2,4,6,8] q, float[2,4,6,8] k, float[2,4,6,8] v) => (float[2,4,6,8] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, is_causal = 1> (q, k, v)
        }]],
      rejected = "as many key heads as query heads" },
    { "in doubles", [[
        (double[2,4,6,8] q, double[2,2,6,8] k, double[2,2,6,8] v) => (double[2,4,6,8] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, is_causal = 1> (q, k, v)
        }]],
      rejected = "GroupQueryAttention does not have this type" },
  },
}
