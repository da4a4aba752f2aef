return pack {
  doc = [[One spelling for what exporters write in many: the other packs match that one.]],

  "canonical/normalize_operators",
  "canonical/remove_dropout",
  "canonical/shape_from_inputs",
  "canonical/cancel_reshapes",
  "canonical/cancel_transposes",
  "canonical/einsum_as_matmul",
  "canonical/softmax_from_exp",
  "canonical/transposed_product",
  "canonical/split_heads",
  "canonical/batched_transpose",
  "canonical/batched_matmul",
  "canonical/batched_pointwise",
  "canonical/batched_sum",
  "canonical/split_sum",
  "canonical/rejoined_pointwise",
}
