return pack {
  doc = [[
    The way back: the engine's own ops in standard ones, each by its one meaning (docs/dialect.md), which is also its function
    body. In no other pack, and never run by `rules/*.lua`.

    MultiheadAttention and ShiftedWindowAttention, which models come with, are taken apart by the pack `attention`. What
    several ranks do together has no standard ops.]],

  "add_rms_norm2",
  "attention",
  "collective_of_one",
  "dynamic_quantize_asymmetric",
  "dynamic_quantize_mxfp4",
  "dynamic_quantize_symmetric",
  "in_projection",
  "joined_transposes",
  "layers",
  "tensor_cast",
  "window_partition",
}
