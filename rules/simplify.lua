return pack {
  doc = [[What is computed although it is known, or twice, or for nothing.]],

  "simplify/known_values",
}
