--- A bias as an input of the product of integers before it.

return rule {
  doc = [[
    MatMulIntegerToFloat(a, b, ...) + bias   =>   MatMulIntegerToFloat(a, b, ..., bias)

    Likewise for DynamicQuantizeMatMul.]],
  phase = "target",

  match = function(op, a, b, sa, sb, za, zb, bias)
    b:shape "... K N"
    bias:shape "N"
    local product = either(
      op["com.microsoft"].MatMulIntegerToFloat(a, b, sa, sb, maybe(za), maybe(zb)),
      op["com.microsoft"].DynamicQuantizeMatMul(a, b, sb, maybe(zb)))
    return op.Add(product, bias)
  end,

  rewrite = function(op, m)
    if m.sa then return op["com.microsoft"].MatMulIntegerToFloat(m.a, m.b, m.sa, m.sb, m.za, m.zb, m.bias) end
    return op["com.microsoft"].DynamicQuantizeMatMul(m.a, m.b, m.sb, m.zb, m.bias)
  end,

  examples = {
    { "of integers", [[
        (uint8[2,3,4] a, float sa, uint8 o, int8[4,5] w, float[5] sw, float[5] b) => (float[2,3,5] y) {
          p = com.microsoft.MatMulIntegerToFloat(a, w, sa, sw, o)
          y = Add(b, p)
        }]],
      "y = com.microsoft.MatMulIntegerToFloat(a, w, sa, sw, o, , b)" },
    { "of numbers", [[
        (float[2,3,4] x, int8[4,5] w, float sw, int8 zw, float[5] b) => (float[2,3,5] y) {
          p = com.microsoft.DynamicQuantizeMatMul(x, w, sw, zw)
          y = Add(p, b)
        }]],
      "y = com.microsoft.DynamicQuantizeMatMul(x, w, sw, zw, b)" },
    { "one number for all columns", [[
        (float[2,3,4] x, int8[4,5] w, float sw, float[1] b) => (float[2,3,5] y) {
          p = com.microsoft.DynamicQuantizeMatMul(x, w, sw)
          y = Add(p, b)
        }]],
      [[p = com.microsoft.DynamicQuantizeMatMul(x, w, sw)
        y = Add(p, b)]] },
  },
}
