return pack {
  doc = [[Attention as one node, and its projections as another.]],

  "attention/compose_scaled_dot_product_attention",
  "attention/compose_parallel_linears",
}
