return pack {
  doc = [[The engine's own ops as standard ops of the model's opset.]],
  options = { tensor_cast = false },

  "../canonical/cancel_reshapes",
  "../canonical/cancel_transposes",
  "../lowering/joined_transposes",
  "../lowering/ours",
  "product_parts",
}
