return pack {
  doc = [[What is computed although it is known, or twice, or for nothing.]],

  "simplify/sizes_in_place",
  "simplify/known_values",
}
