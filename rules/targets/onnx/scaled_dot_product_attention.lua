--- Attention as the standard writes it.
local fused = lib "fused_attention"

-- The lowest number of a float counts as -inf in some runtimes: a row that has nothing else would be zeros there, not the
-- mean of all values. The next one absorbs the scores as well, and no other number lies between them.
local LOWEST, NEXT = -3.4028234663852886e38, -3.4028232635611926e38

return rule {
  doc = [[
    ScaledDotProductAttention(q, k, v, mask)   =>   Attention(q, k, v, mask)    from opset 23 on

    The mask is given the lengths of queries and keys, which not every runtime broadcasts.]],
  phase = "target",

  match = function(op, q, k, v, mask, scale, causal, softcap, H)
    return fused.attention(op, {q = q, k = k, v = v, mask = mask, scale = scale, causal = causal, softcap = softcap, H = H})
  end,

  where = function(m)
    need(m.scale == nil or m.scale > 0, "runtimes want a positive scale", m.q)
    need(m.q:dim(0) ~= 0, "there is no batch", m.q)
    need(m.q.dtype == "float" or m.q.dtype == "float16", "runtimes differ for " .. (m.q.dtype or "this type"), m.q)
    need(not m.mask or m.mask.dtype == "bool" or m.mask.dtype == "float",
      "runtimes differ for a mask that is added in " .. (m.mask and m.mask.dtype or "this type"), m.mask)
    fused.need_sizes(m)
  end,

  rewrite = function(op, m)
    local mask = m.mask
    if mask then
      local rank = mask:rank()
      if rank < 2 or mask:dim(-2) ~= m.S or mask:dim(-1) ~= m.L then
        local lengths = { op.Shape{m.q, start = 2, ["end"] = 3}, op.Shape{m.k, start = 2, ["end"] = 3} }
        mask = op.Expand(mask, op.Concat{lengths, axis = 0})
      end
      if mask.dtype == "float" then mask = op.Where(op.Equal(mask, LOWEST), NEXT, mask) end
    end
    local y = op.Attention{m.q, m.k, m.v, mask, scale = m.scale, is_causal = m.causal ~= 0 and 1 or 0, softcap = m.softcap}
    -- A row whose mask holds +inf or NaN has no probabilities: like one that sees no key it gives zeros.
    return mask and mask.dtype == "float" and op.Where(op.IsNaN(y), 0, y) or y
  end,

  examples = {
    { "a mask of one row", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, bool[2,1,1,8] mask) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.5> (q, k, v, mask)
        }]],
      [[lengths = Constant <value = int64[2] {8,8}> ()
        wide = Expand(mask, lengths)
        y = Attention <scale = 0.5> (q, k, v, wide)]] },
    { "an opset without it", [[
        <ir_version: 10, opset_import: ["" : 17, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16> (q, k, v)
        }]],
      rejected = "Attention is not in the model's opset" },
    { "a scale that is negative", [[
        <ir_version: 11, opset_import: ["" : 23, "ruleengine" : 1]>
        g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) {
          y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = -0.5> (q, k, v)
        }]],
      rejected = "runtimes want a positive scale" },
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
        y = Where(n, zero, a)]] },
  },
}
