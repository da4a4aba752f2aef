--- A product of integers, and the quantization of its first factor, as one op of ONNX Runtime.

return rule {
  doc = [[
    q, s, z = DynamicQuantizeLinear(x); MatMulIntegerToFloat(q, b, s, sb, z, zb, bias)
      =>   DynamicQuantizeMatMul(x, b, sb, zb, bias)

    Several products of one x share its quantization, and stay.]],
  phase = "target",

  match = function(op, x, b, sb, zb, bias)
    local q, s, z = op.DynamicQuantizeLinear{x, outputs = 3}
    local function product(scale, other)
      return op["com.microsoft"].MatMulIntegerToFloat(q, b, scale, other, z, maybe(zb), maybe(bias))
    end
    return either(product(s, sb), product(sb, s))
  end,

  rewrite = function(op, m) return op["com.microsoft"].DynamicQuantizeMatMul(m.x, m.b, m.sb, m.zb, m.bias) end,

  examples = {
    { "with a bias", [[
        (float[2,3,4] x, int8[4,2] w, float[2] sw, int8[2] zw, float[2] b) => (float[2,3,2] y) {
          q, s, o = DynamicQuantizeLinear(x)
          y = com.microsoft.MatMulIntegerToFloat(q, w, s, sw, o, zw, b)
        }]],
      "y = com.microsoft.DynamicQuantizeMatMul(x, w, sw, zw, b)" },
    { "the scales in the other order", [[
        (float[2,3,4] x, uint8[4,2] w, float sw) => (float[2,3,2] y) {
          q, s, o = DynamicQuantizeLinear(x)
          y = com.microsoft.MatMulIntegerToFloat(q, w, sw, s, o)
        }]],
      "y = com.microsoft.DynamicQuantizeMatMul(x, w, sw)" },
    { "two products of one x", [[
        (float[2,3,4] x, uint8[4,2] w, float sw) => (float[2,3,2] y, float[2,3,2] z) {
          q, s, o = DynamicQuantizeLinear(x)
          y = com.microsoft.MatMulIntegerToFloat(q, w, s, sw, o)
          d = Mul(sw, sw)
          z = com.microsoft.MatMulIntegerToFloat(q, w, s, d, o)
        }]],
      [[q, s, o = DynamicQuantizeLinear(x)
        y = com.microsoft.MatMulIntegerToFloat(q, w, s, sw, o)
        d = Mul(sw, sw)
        z = com.microsoft.MatMulIntegerToFloat(q, w, s, d, o)]] },
  },
}
