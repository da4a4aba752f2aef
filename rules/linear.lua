return pack {
  doc = [[Linear layers: one large product instead of several small ones.]],

  "linear/merge_linear",
}
