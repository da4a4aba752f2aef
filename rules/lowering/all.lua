return pack {
  doc = [[The way back: the engine's own ops in standard ones. In no other pack, and never run by `rules/*.lua`.]],

  "attention_forward",
  "linear",
  "mha_in_projection",
  "scaled_dot_product_attention",
}
