--- Attention as the standard's op.
local fused = lib "fused_attention"
local heads = lib "heads"

-- Some runtimes treat the lowest number of float as -inf: a row of only that number would become zeros, not the mean
-- of all values. The next higher number absorbs the scores as well.
local LOWEST, NEXT = -3.4028234663852886e38, -3.4028232635611926e38

local function may_have_lowest(mask)
  return mask.dtype == "float" and not fused.chooses(mask, function(number) return number ~= LOWEST end)
end

-- Whether the mask needs no change that costs more than the op saves.
local function is_cheap(mask)
  if mask.dtype == "bool" then return true end
  return not may_have_lowest(mask) or mask:rank() < 2 or mask:dim(-2) == 1
end

return rule {
  doc = [[
    ScaledDotProductAttention(q, k, v, mask)   =>   Attention(q, k, v, mask)    needs opset 23

    In a form that all runtimes since ONNX Runtime 1.23 interpret equally. Heads that are behind tokens in the model
    stay there: the op takes both orders, and four Transposes are removed. On CPUs the op only saves time if it removes
    Transposes, or has a mask that needs no change, causality or a soft cap; the option gpu applies the rule to all
    attention. The mask is expanded to the lengths of queries and keys, since not every runtime broadcasts it. Key heads
    are repeated if the mask differs between heads. A causal mask becomes is_causal = 1.]],
  phase = "target",
  options = { gpu = false },

  match = function(op, q, k, v, mask, scale, causal, softcap, guarded, H)
    return fused.attention(op,
      {q = q, k = k, v = v, mask = mask, scale = scale, causal = causal, softcap = softcap, guarded = guarded, H = H})
  end,

  where = function(m, op)
    m.hides = fused.hides(op, m, function(found) return found.alone end)
    local mask, causal = m.hides.mask, m.hides.causal
    need(m.scale == nil or m.scale > 0, "runtimes need a positive scale", m.q)
    need(m.q:dim(0) ~= 0, "the batch is empty", m.q)
    need(m.q.dtype == "float" or m.q.dtype == "float16", "runtimes differ for " .. (m.q.dtype or "this type"), m.q)
    need(m.softcap >= 0, "the soft cap is negative", m.q)
    need(m.softcap == 0 or not mask and not causal, "older runtimes apply the mask before the soft cap", m.mask or m.q)
    need(not causal or m.S == m.L or type(m.S) == "number" and m.S ~= 1,
      "older runtimes ignore causality for a single query", m.q)
    need(not causal or not mask or mask.dtype == "bool",
      "runtimes weigh later keys where a mask hides all earlier ones", mask)
    m.cut = fused.need_sizes(m)
    m.by_head = mask and mask:rank() > 2 and mask:dim(-3) ~= 1
    if m.by_head then fused.need_heads(m) end
    -- ONNX Runtime 1.23 computes grouped heads behind tokens wrongly in float16.
    local has_groups = m.G ~= m.H
    m.is_behind = not m.cut and not (has_groups and (m.by_head or m.q.dtype == "float16")) and fused.is_behind(m)
    need(m.options.gpu or m.is_behind or mask or causal or m.softcap ~= 0,
      "it saves nothing on CPUs: no Transpose goes, and there is no mask", m.q)
    need(m.options.gpu or m.is_behind or not mask or is_cheap(mask),
      "costs more than it saves: no Transpose goes, and the mask has to be changed", mask)
    fused.assume_numbers(m)
  end,

  rewrite = function(op, m)
    local q, k, v, mask = fused.queries(op, m, m.cut), m.k, m.v, m.hides.mask
    if mask then
      local rank = mask:rank()
      local is_short = rank < 2 or mask:dim(-2) ~= m.S or mask:dim(-1) ~= m.L
      -- Before the mask is expanded, since it then has more numbers.
      if may_have_lowest(mask) then mask = op.Where(op.Equal(mask, LOWEST), NEXT, mask) end
      if is_short then
        mask = op.Expand(mask, op.Concat{fused.length(op, q), fused.length(op, k), axis = 0})
      end
      if m.by_head then
        k, v = heads.spread(op, k, m.G, m.H, m.D), heads.spread(op, v, m.G, m.H, m.E)
      end
    end
    -- In older runtimes the probabilities of a row without a visible key are NaN, as are those of a row whose mask has
    -- +inf or NaN: they are replaced by zeros.
    local function seen(y) return mask and m.guarded ~= 0 and op.Where(op.IsNaN(y), 0, y) or y end
    local is_causal = m.hides.causal and 1 or 0
    if not m.is_behind then
      return seen(op.Attention{q, k, v, mask, scale = m.scale, is_causal = is_causal, softcap = m.softcap})
    end
    local y = op.Attention{fused.rows(op, q, m.H, m.D), fused.rows(op, k, m.G, m.D), fused.rows(op, v, m.G, m.E), mask,
      q_num_heads = m.H, kv_num_heads = m.G, scale = m.scale, is_causal = is_causal, softcap = m.softcap}
    return heads.split(op, seen(y), m.H, m.E)
  end,

  examples = {
    { "a mask of one row", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[2,1,1,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      [[lengths = Constant <value = int64[2] {8,8}> ()
        wide = Expand(mask, lengths)
        a = Attention <scale = 0.5> (q, k, v, wide)
        n = IsNaN(a)
        zero = Constant <value = float {0.0}> ()
        y = Where(n, zero, a)]], assumed = "no score is NaN or infinite" },
    { "a mask of numbers that tells heads apart, two key heads for four", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,2,8,16] k, float[2,2,8,16] v, float[4,8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      [[lowest = Constant <value = float {-3.4028234663852886e38}> ()
        next = Constant <value = float {-3.4028232635611926e38}> ()
        zero = Constant <value = float {0.0}> ()
        e = Equal(mask, lowest)
        m = Where(e, next, mask)
        two = Constant <value = int64[1] {2}> ()
        twice = Constant <value = int64[5] {1,1,2,1,1}> ()
        heads = Constant <value = int64[4] {2,4,8,16}> ()
        ku = Unsqueeze(k, two)
        ke = Expand(ku, twice)
        ks = Reshape(ke, heads)
        vu = Unsqueeze(v, two)
        ve = Expand(vu, twice)
        vs = Reshape(ve, heads)
        a = Attention <scale = 0.5> (q, ks, vs, m)
        n = IsNaN(a)
        y = Where(n, zero, a)]], options = { gpu = true } },
    { "rows of a mask that are counted otherwise than queries", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,S,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[A,8] m1, bool[C,8] m2) => (float[2,4,R,16] y) {
          mask = Concat <axis = 0> (m1, m2)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      [[mask = Concat <axis = 0> (m1, m2)
        rows = Shape <start = -2, end = -1> (mask)
        ones = Constant <value = int64[2] {1,1}> ()
        one = Constant <value = int64[1] {1}> ()
        sizes = Concat <axis = 0> (ones, rows, one)
        wide = Expand(q, sizes)
        queries = Shape <start = 2, end = 3> (wide)
        keys = Shape <start = 2, end = 3> (k)
        lengths = Concat <axis = 0> (queries, keys)
        m = Expand(mask, lengths)
        a = Attention <scale = 0.5> (wide, k, v, m)
        n = IsNaN(a)
        zero = Constant <value = float {0.0}> ()
        y = Where(n, zero, a)]], assumed = "no score is NaN or infinite" },
    { "tokens before heads stay so, two key heads for four", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,S,4,16] qt, float[2,L,2,16] kt, float[2,L,2,8] vt, bool[2,1,1,L] mask) => (float[2,S,4,8] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, scale = 0.5, guarded = 0>
            (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[queries = Shape <start = 1, end = 2> (qt)
        keys = Shape <start = 1, end = 2> (kt)
        lengths = Concat <axis = 0> (queries, keys)
        wide = Expand(mask, lengths)
        of_q = Constant <value = int64[3] {0,0,64}> ()
        q3 = Reshape(qt, of_q)
        of_k = Constant <value = int64[3] {0,0,32}> ()
        k3 = Reshape(kt, of_k)
        of_v = Constant <value = int64[3] {0,0,16}> ()
        v3 = Reshape(vt, of_v)
        a = Attention <scale = 0.5, q_num_heads = 4, kv_num_heads = 2> (q3, k3, v3, wide)
        of_y = Constant <value = int64[4] {0,0,4,8}> ()
        apart = Reshape(a, of_y)
        y = Transpose <perm = [0,2,1,3]> (apart)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "the same with a mask of numbers, which may hide every key of a query", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,8,4,16] qt, float[2,8,4,16] kt, float[2,8,4,16] vt, float[8,8] mask) => (float[2,8,4,16] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[lowest = Constant <value = float {-3.4028234663852886e38}> ()
        next = Constant <value = float {-3.4028232635611926e38}> ()
        zero = Constant <value = float {0.0}> ()
        flat = Constant <value = int64[3] {0,0,64}> ()
        heads = Constant <value = int64[4] {0,0,4,16}> ()
        e = Equal(mask, lowest)
        m = Where(e, next, mask)
        q3 = Reshape(qt, flat)
        k3 = Reshape(kt, flat)
        v3 = Reshape(vt, flat)
        a = Attention <q_num_heads = 4, kv_num_heads = 4> (q3, k3, v3, m)
        n = IsNaN(a)
        w = Where(n, zero, a)
        apart = Reshape(w, heads)
        y = Transpose <perm = [0,2,1,3]> (apart)
        yt = Transpose <perm = [0,2,1,3]> (y)]] },
    { "two key heads for four in float16", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float16[2,S,4,16] qt, float16[2,L,2,16] kt, float16[2,L,2,8] vt, bool[2,1,1,L] mask)
          => (float16[2,S,4,8] yt) {
          q = Transpose <perm = [0,2,1,3]> (qt)
          k = Transpose <perm = [0,2,1,3]> (kt)
          v = Transpose <perm = [0,2,1,3]> (vt)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 8, scale = 0.5, guarded = 0>
            (q, k, v, mask)
          yt = Transpose <perm = [0,2,1,3]> (y)
        }]],
      [[q = Transpose <perm = [0,2,1,3]> (qt)
        k = Transpose <perm = [0,2,1,3]> (kt)
        v = Transpose <perm = [0,2,1,3]> (vt)
        queries = Shape <start = 1, end = 2> (qt)
        keys = Shape <start = 1, end = 2> (kt)
        lengths = Concat <axis = 0> (queries, keys)
        wide = Expand(mask, lengths)
        y = Attention <scale = 0.5> (q, k, v, wide)
        yt = Transpose <perm = [0,2,1,3]> (y)]], assumed = "no score is NaN or infinite" },
    { "a soft cap beside a mask", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, softcap = 5.0> (q, k, v, mask)
        }]],
      rejected = "older runtimes apply the mask before the soft cap" },
    { "a soft cap and no mask", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, softcap = 5.0> (q, k, v)
        }]],
      "y = Attention <softcap = 5.0> (q, k, v)" },
    { "causal, of as many queries as keys", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,S,16] q, float[2,4,S,16] k, float[2,4,S,16] v) => (float[2,4,S,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, is_causal = 1> (q, k, v)
        }]],
      "y = Attention <is_causal = 1> (q, k, v)", assumed = "no score is NaN or infinite" },
    { "causal beside a mask of numbers", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, is_causal = 1> (q, k, v, mask)
        }]],
      rejected = "runtimes weigh later keys where a mask hides all earlier ones" },
    { "a causal mask", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,3,16] q, float[2,4,3,16] k, float[2,4,3,16] v) => (float[2,4,3,16] y)
        <float[3,3] mask = {0, -1e9, -1e9, 0, 0, -1e9, 0, 0, 0}> {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v, mask)
        }]],
      "y = Attention <is_causal = 1> (q, k, v)", assumed = "scores between -4,900 and 4,900" },
    { "causal, of queries that may be one", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,S,16] q, float[2,4,T,16] k, float[2,4,T,16] v) => (float[2,4,S,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, is_causal = 1> (q, k, v)
        }]],
      rejected = "older runtimes ignore causality for a single query" },
    { "an opset without it", [[
        <ir_version: 10, opset_import: ["" : 17, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[8,8] m) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v, m)
        }]],
      rejected = "Attention is not in the model's opset" },
    { "the same on a CPU", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      rejected = "costs more than it saves: no Transpose goes, and the mask has to be changed" },
    { "a mask without the lowest number", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[8,8] keep) => (float[2,4,8,16] y)
        <float zero = {0.0}, float never = {-inf}> {
          mask = Where(keep, zero, never)
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, guarded = 0> (q, k, v, mask)
        }]],
      "mask = Where(keep, zero, never) y = Attention(q, k, v, mask)" },
    { "nothing goes", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      rejected = "it saves nothing on CPUs" },
    { "the same on a GPU", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      "y = Attention(q, k, v)", options = { gpu = true } },
    { "a scale that is negative", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = -0.5> (q, k, v)
        }]],
      rejected = "runtimes need a positive scale" },
    { "no keys", [[
        (float[2,4,8,16] q, float[2,4,0,16] k, float[2,4,0,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      rejected = "there are no queries or no keys" },
    { "a mask of numbers, which may be no numbers", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[8,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      [[lowest = Constant <value = float {-3.4028234663852886e38}> ()
        next = Constant <value = float {-3.4028232635611926e38}> ()
        zero = Constant <value = float {0.0}> ()
        e = Equal(mask, lowest)
        m = Where(e, next, mask)
        a = Attention <scale = 0.5> (q, k, v, m)
        n = IsNaN(a)
        y = Where(n, zero, a)]], options = { gpu = true } },
  },
}
