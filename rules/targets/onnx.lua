return pack {
  doc = [[The fused ops of newer opsets of the standard, and standard ops for all others.]],
  options = { attention = false, tensor_cast = false },

  "../canonical/cancel_reshapes",
  "../canonical/cancel_transposes",
  "../lowering/ours",
  "onnx/causal_attention",
  "onnx/gelu",
  "onnx/layer_normalization",
  "onnx/partial_rotary_embedding",
  "onnx/rms_normalization",
  "onnx/rotary_embedding",
  "onnx/scaled_dot_product_attention",
  "packed_heads",
}
