return pack {
  doc = [[The fused ops of ONNX Runtime, and standard ops for all others.]],
  options = { attention = false, tensor_cast = false },

  "../canonical/cancel_reshapes",
  "../canonical/cancel_transposes",
  "../lowering/ours",
  "ort/fused_convolution",
  "ort/gelu",
  "ort/group_query_attention",
  "ort/layer_normalization",
  "ort/multi_head_attention",
  "ort/partial_rotary_embedding",
  "ort/quick_gelu",
  "ort/rotary_before_transpose",
  "ort/rotary_embedding",
  "ort/skip_simplified_layer_normalization",
  "packed_heads",
}
