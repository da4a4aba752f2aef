return pack {
  doc = [[The way back: the engine's own ops in standard ones. In no other pack, and never run by `rules/*.lua`.]],

  "attention_forward",
  "linear",
  "mha_in_projection",
  "relative_position_bias",
  "scaled_dot_product_attention",
  "swin_attention",
  "swin_window_partition",
  "swin_window_reverse",
}
