return pack {
  doc = [[One spelling for what exporters write in many: the other packs match that one.]],

  "canonical/normalize_operators",
  "canonical/remove_dropout",
  "canonical/cancel_reshapes",
  "canonical/merge_batched_transpose",
  "canonical/shape_from_inputs",
}
