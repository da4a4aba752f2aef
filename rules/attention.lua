return pack {
  doc = [[
    Attention as one node, and its projections as another. Options of nn.MultiheadAttention beyond self-attention, and
    Swin V2, are decomposed too; a rule that is given by itself leaves them unchanged.]],
  options = { cross_attention = true, masks = true, sequence_first = true, any_bias = true, swin_v2 = true },

  "attention/decompose_multihead_attention",
  "attention/decompose_swin_attention",
  "attention/decompose_swin_v2_attention",
  "attention/compose_scaled_dot_product_attention",
  "attention/compose_grouped_attention",
  "attention/compose_batched_attention",
  "attention/compose_stacked_attention",
  "attention/compose_parallel_linears",
  "attention/compose_packed_projection",
}
