--- Take nn.MultiheadAttention apart, in the tree grammar: what its packed, unmasked form becomes.
local tree = lib "tree"
local linear = lib "linear"

local is_mha = tree.is("ruleengine.MultiheadAttention", {num_heads = tree.variable "H", embed_dim = tree.variable "E",
  dropout = tree.variable "dropout", kdim = any, vdim = any, need_weights = any, attrs = any, outputs = any}):as "MHA"

local function decompose_mha(t)
  local H, D = t.m.H, t.m.E / t.m.H
  local inputs = t:get_node(0).inputs
  local in_proj = tree.module{type = "ruleengine.MHAInProjection", take = 3, weights = {inputs[4], inputs[5]}, outputs = 3,
    attrs = {num_heads = H, head_dim = D}}
  local attention = tree.module{type = "ruleengine.ScaledDotProductAttention",
    attrs = {num_heads = H, head_dim = D, dropout_p = t.m.dropout}}
  local function flatten(op, prev)
    local attn_t = op.Transpose{prev[1], perm = {0, 2, 1, 3}}
    return {attn_t, op.Reshape(attn_t, {0, 0, t.m.E})}
  end
  local function out_proj(op, prev) return linear.apply(op, prev[1], inputs[6], inputs[7]) end
  return in_proj, attention, flatten, out_proj
end

return rule(tree.rule {
  doc = [[
    MultiheadAttention(query, key, value)
      =>   merge_heads(ScaledDotProductAttention(MHAInProjection(query, key, value, in_w, in_b))) out_w^T + out_b]],
  phase = "conversion",
  tree = {is_mha},
  where = function(t)
    local mha = t:get_node(0)
    local attrs, weights = mha.attrs, mha.outputs[2]
    need(t.m.H and t.m.E, "num_heads or embed_dim is missing", mha)
    refuse(not mha.inputs[4], "cross-attention", mha)
    refuse(attrs.batch_first == 0, "batch_first=False not supported", mha)
    refuse(attrs.add_zero_attn ~= 0, "add_zero_attn=True not supported", mha)
    refuse(mha.inputs[8], "attn_mask is not None", mha)
    refuse(mha.inputs[9], "key_padding_mask is not None", mha)
    refuse(t.operands.n > 14, "extra positional args", mha)
    refuse(mha.inputs[13] or mha.inputs[14], "add_bias_kv=True not supported", mha)
    refuse(weights and (weights.is_output or #weights.users > 0), "the attention weights are used", mha)
  end,
  graft = {decompose_mha},
  examples = {
    { "self-attention", [[
        (float[1,3,2] x) => (float[1,3,2] y)
        <float[6,2] in_w = {1,2,3,4,5,6,7,8,9,1,2,3}, float[6] in_b = {1,2,3,4,5,6}, float[2,2] out_w = {1,2,3,4}> {
          y = ruleengine.MultiheadAttention <embed_dim = 2, num_heads = 2, batch_first = 1> (x, x, x, in_w, in_b, out_w)
        }]],
      [[q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 1> (x, x, x, in_w, in_b)
        a = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 1> (q, k, v)
        t = Transpose <perm = [0,2,1,3]> (a)
        s = Constant <value = int64[3] {0,0,2}> ()
        r = Reshape(t, s)
        w = Constant <value = float[2,2] {1,3,2,4}> ()
        y = MatMul(r, w)]] },
    { "two settings that are not supported", [[
        (float[2,3,4] x, float[3,3] mask, float[12,4] in_w, float[4,4] out_w) => (float[2,3,4] y) {
          [block] y = ruleengine.MultiheadAttention <embed_dim = 4, num_heads = 2, add_zero_attn = 1, batch_first = 1>
            (x, x, x, in_w, "", out_w, "", mask)
        }]],
      warned = "attn_mask is not None" },
  },
})
