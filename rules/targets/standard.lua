return pack {
  doc = [[The engine's own ops, and those of ONNX Runtime, as standard ops of the model's opset.]],
  options = { tensor_cast = false, onnxruntime = true },

  "../canonical/cancel_reshapes",
  "../canonical/cancel_transposes",
  "../simplify/joined_transposes",
  "../lowering/ours",
  "product_parts",
}
