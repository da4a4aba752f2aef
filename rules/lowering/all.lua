return pack {
  doc = [[
    The way back: the engine's own ops in standard ones. In no other pack, and never run by `rules/*.lua`.

    MultiheadAttention and ShiftedWindowAttention, which models come with, are taken apart by the pack `attention`. What
    several ranks do together has no standard ops; dynamic_quantize_mxfp4 would need a table of all powers of two.]],

  "add_rms_norm",
  "add_rms_norm2",
  "attention_forward",
  "collective_of_one",
  "dynamic_quantize_asymmetric",
  "dynamic_quantize_symmetric",
  "fp8_linear",
  "functional_attention",
  "linear",
  "mha_in_projection",
  "mxfp4_linear",
  "quantize",
  "region_marker",
  "relative_position_bias",
  "rms_norm",
  "scaled_dot_product_attention",
  "static_quant_linear",
  "swin_attention",
  "swin_window_partition",
  "swin_window_reverse",
}
