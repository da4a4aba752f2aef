--- Quantizing to floats of four bits, with a power of two as the scale of each group, in standard ops.
return rule {
  doc = [[ dynamic_quantize_mxfp4(x)   =>   the E2M1 codes of x / scale, scale, where scale = 2^(floor(log2 max|x|) - 2) ]],
  phase = "target",

  match = function(op, x)
    local y, scale = op.tensor_cast.dynamic_quantize_mxfp4{x, attrs = any, outputs = 2}
    return y:as "call", scale
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "groups of no size", [[
        (float[3,32] x) => (uint8[3,32] y) { y = tensor_cast.dynamic_quantize_mxfp4 <group_size = 0> (x) }]],
      rejected = "the groups are not known" },
  },
}
