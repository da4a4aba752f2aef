return pack {
  doc = [[Quantize once, and as early as it may be.]],

  "quantization/lift_combine_quant",
}
