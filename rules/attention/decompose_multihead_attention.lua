--- Decompose nn.MultiheadAttention.
local heads = lib "heads"
local linear = lib "linear"

return rule {
  doc = [[
    MultiheadAttention(query, key, value)
      =>   merge_heads(ScaledDotProductAttention(MHAInProjection(query, key, value, in_w, in_b))) out_w^T + out_b

    With packed weights, batch first. Options allow more: `cross_attention` (separate weights for query, key and value),
    `masks` (attn_mask and key_padding_mask; true means blocked) and `sequence_first` (batch_first = 0). The rest stays
    unchanged, with a warning: add_zero_attn, bias_k and bias_v, and attention weights that are read.]],
  phase = "conversion",
  options = { cross_attention = false, masks = false, sequence_first = false },

  match = function(op, query, key, value, in_w, in_b, out_w, out_b, attn_mask, padding, q_w, k_w, v_w, bias_k, bias_v,
                   H, E, dropout)
    return op.ruleengine.MultiheadAttention{query, key, value, maybe(in_w), maybe(in_b), out_w, maybe(out_b),
      maybe(attn_mask), maybe(padding), maybe(q_w), maybe(k_w), maybe(v_w), maybe(bias_k), maybe(bias_v), rest "extra",
      num_heads = H, embed_dim = E, dropout = dropout, kdim = any, vdim = any, need_weights = any, attrs = any,
      outputs = any}:as "MHA"
  end,

  where = function(m)
    local attrs, options, weights = m.MHA.attrs, m.options, m.MHA.outputs[2]
    need(m.H and m.E, "num_heads or embed_dim is missing", m.MHA)
    need((m.query:rank() or 3) == 3, "the query is not [batch, sequence, width]", m.query)
    m.sequence_first = attrs.batch_first == 0
    refuse(not m.in_w, "cross-attention", m.MHA, options.cross_attention)
    refuse(m.sequence_first, "batch_first=False not supported", m.MHA, options.sequence_first)
    refuse(attrs.add_zero_attn ~= 0, "add_zero_attn=True not supported", m.MHA)
    refuse(m.attn_mask, "attn_mask is not None", m.MHA, options.masks)
    refuse(m.padding, "key_padding_mask is not None", m.MHA, options.masks)
    refuse(#m.extra > 0, "extra positional args", m.MHA)
    refuse(m.bias_k or m.bias_v, "add_bias_kv=True not supported", m.MHA)
    refuse(weights and (weights.is_output or #weights.users > 0), "the attention weights are used", m.MHA)
    refuse(m.H < 1 or m.E % m.H ~= 0, "embed_dim is no multiple of num_heads", m.MHA)
    need(m.in_w or (m.q_w and m.k_w and m.v_w), "there are neither packed nor separate weights", m.MHA)
    if m.attn_mask then
      local rank = need(m.attn_mask:rank(), "the rank of the mask is unknown", m.attn_mask)
      need(rank == 2 or rank == 3, "the mask is neither [S,L] nor [B*H,S,L]", m.attn_mask)
    end
  end,

  rewrite = function(op, m)
    local H, D = m.H, m.E / m.H
    local function turned(x) return m.sequence_first and op.Transpose{x, perm = {1, 0, 2}} or x end
    local query, key, value = turned(m.query), turned(m.key), turned(m.value)

    local q, k, v
    if m.in_w then
      q, k, v = op.ruleengine.MHAInProjection{query, key, value, m.in_w, m.in_b,
        num_heads = H, head_dim = D, outputs = 3}
    else
      local function projected(x, w, part)
        local b = m.in_b and op.Slice(m.in_b, {part * m.E}, {(part + 1) * m.E}, {0})
        return heads.split(op, op.ruleengine.Linear(x, w, b), H, D)
      end
      q, k, v = projected(query, m.q_w, 0), projected(key, m.k_w, 1), projected(value, m.v_w, 2)
    end

    local mask = m.attn_mask
    if mask and mask.dtype == "bool" then mask = op.Not(mask) end
    if mask and mask:rank() == 3 then mask = op.Reshape(mask, {-1, H, mask:dim(1), mask:dim(2)}) end
    if m.padding then
      local seen = op.Unsqueeze(op.Not(m.padding), {1, 2})
      if not mask then mask = seen
      elseif mask.dtype == "bool" then mask = op.And(mask, seen)
      else mask = op.Where(seen, mask, -math.huge) end
    end

    local y = op.ruleengine.ScaledDotProductAttention{q, k, v, mask, num_heads = H, head_dim = D, dropout_p = m.dropout}
    return turned(linear.apply(op, heads.merged(op, y, H, D), m.out_w, m.out_b))
  end,

  examples = {
    { "self-attention", [[
        (float[2,3,4] x) => (float[2,3,4] y)
        <float[12,4] in_w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,
            1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3},
         float[12] in_b = {1,2,3,4,5,6,7,8,9,1,2,3}, float[4,4] out_w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16},
         float[4] out_b = {1,2,3,4}> {
          y = ruleengine.MultiheadAttention <embed_dim = 4, num_heads = 2, batch_first = 1, dropout = 0.1>
            (x, x, x, in_w, in_b, out_w, out_b)
        }]],
      [[q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 2> (x, x, x, in_w, in_b)
        a = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 2, dropout_p = 0.1> (q, k, v)
        t = Transpose <perm = [0,2,1,3]> (a)
        s = Constant <value = int64[3] {0,0,4}> ()
        r = Reshape(t, s)
        w = Constant <value = float[4,4] {1,5,9,13,2,6,10,14,3,7,11,15,4,8,12,16}> ()
        p = MatMul(r, w)
        y = Add(p, out_b)]] },
    { "a mask of keys, the sequence first", [[
        (float[3,2,4] x, bool[2,3] padding) => (float[3,2,4] y)
        <float[12,4] in_w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,
            1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3},
         float[4,4] out_w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> {
          y = ruleengine.MultiheadAttention <embed_dim = 4, num_heads = 2>
            (x, x, x, in_w, "", out_w, "", "", padding)
        }]],
      [[x2 = Transpose <perm = [1,0,2]> (x)
        q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 2> (x2, x2, x2, in_w)
        n = Not(padding)
        axes = Constant <value = int64[2] {1,2}> ()
        keep = Unsqueeze(n, axes)
        a = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 2> (q, k, v, keep)
        t = Transpose <perm = [0,2,1,3]> (a)
        s = Constant <value = int64[3] {0,0,4}> ()
        r = Reshape(t, s)
        w = Constant <value = float[4,4] {1,5,9,13,2,6,10,14,3,7,11,15,4,8,12,16}> ()
        p = MatMul(r, w)
        y = Transpose <perm = [1,0,2]> (p)]],
      options = { masks = true, sequence_first = true } },
    { "a mask, which its option would allow", [[
        (float[2,3,4] x, float[3,3] mask, float[12,4] in_w, float[4,4] out_w) => (float[2,3,4] y) {
          [block] y = ruleengine.MultiheadAttention <embed_dim = 4, num_heads = 2, batch_first = 1>
            (x, x, x, in_w, "", out_w, "", mask)
        }]],
      warned = "Skipping MHA at block: attn_mask is not None" },
    { "a query of whatever shape, the sequence first", [[
        (float[] x, float[12,4] in_w, float[4,4] out_w) => (float[] y) {
          [block] y = ruleengine.MultiheadAttention <embed_dim = 4, num_heads = 2> (x, x, x, in_w, "", out_w)
        }]],
      warned = "Skipping MHA at block: batch_first=False not supported" },
    { "a zero key", [[
        (float[2,3,4] x, float[12,4] in_w, float[4,4] out_w) => (float[2,3,4] y) {
          y = ruleengine.MultiheadAttention <embed_dim = 4, num_heads = 2, batch_first = 1, add_zero_attn = 1>
            (x, x, x, in_w, "", out_w)
        }]],
      warned = "add_zero_attn=True not supported" },
  },
}
