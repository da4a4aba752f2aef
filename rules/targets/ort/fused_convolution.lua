--- A convolution and its Relu as one op of ONNX Runtime.
return rule {
  doc = [[
    Relu(Conv(x, w, b))   =>   com.microsoft.FusedConv(x, w, b)

    Other activations are not there on every device.]],
  phase = "target",

  match = function(op, x, w, b)
    return op.Relu(op.Conv{x, w, maybe(b), attrs = any}:as "conv")
  end,

  where = function(m)
    need(m.x.dtype == "float", "the op does not have this type on every device", m.x)
  end,

  rewrite = function(op, m)
    local attrs = { m.x, m.w, m.b, activation = "Relu" }
    for _, name in ipairs(m.conv.attribute_names) do attrs[name] = m.conv.attrs[name] end
    return op["com.microsoft"].FusedConv(attrs)
  end,

  examples = {
    { "with padding and a bias", [[
        (float[B,3,8,8] x, float[4,3,3,3] w, float[4] b) => (float[B,4,8,8] y) {
          c = Conv <pads = [1,1,1,1], kernel_shape = [3,3]> (x, w, b)
          y = Relu(c)
        }]],
      "y = com.microsoft.FusedConv <activation = \"Relu\", pads = [1,1,1,1], kernel_shape = [3,3]> (x, w, b)" },
    { "without a bias, of one axis, in groups", [[
        (float[B,4,8] x, float[4,2,3] w) => (float[B,4,6] y) {
          c = Conv <group = 2> (x, w)
          y = Relu(c)
        }]],
      "y = com.microsoft.FusedConv <activation = \"Relu\", group = 2> (x, w)" },
    { "halves", [[
        (float16[B,3,8] x, float16[4,3,3] w) => (float16[B,4,6] y) {
          c = Conv(x, w)
          y = Relu(c)
        }]],
      rejected = "the op does not have this type on every device" },
  },
}
