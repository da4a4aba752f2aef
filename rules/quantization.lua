return pack {
  doc = [[Quantize once, and as early as possible.]],

  "quantization/lift_combine_quant",
}
