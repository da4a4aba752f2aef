return pack {
  doc = [[What is computed although it is known, or for nothing, or in two steps instead of one.]],

  "simplify/neutral_operands",
  "simplify/joined_factors",
  "simplify/joined_bounds",
  "simplify/hard_swish",
  "simplify/joined_views",
  "simplify/joined_transposes",
  "simplify/joined_slices",
  "simplify/joined_concats",
  "simplify/rejoined_parts",
  "simplify/parts_of_shape",
  "simplify/sizes_in_place",
  "simplify/padded_convolution",
  "simplify/layer_weights",
  "simplify/known_values",
}
