--- A product of 8-bit integers and its scales as one op of ONNX Runtime.

-- Whether v has one element, and at most one axis.
local function is_one(v) return v:rank() == 0 or v:rank() == 1 and v:dim(0) == 1 end

return rule {
  doc = [[
    cast(MatMulInteger(a, b, za, zb)) (sa sb)   =>   MatMulIntegerToFloat(a, b, sa, sb, za, zb)

    For a there is one scale. For b there is one, or one for each column. A product with one factor has it as the scale
    of b.]],
  phase = "target",

  match = function(op, a, b, za, zb, sa, sb)
    b:shape "... K N"
    local product = op.Cast{op.MatMulInteger(a, b, maybe(za), maybe(zb)), to = "float"}
    return op.Mul(product, either(op.Mul(sa, sb), sb))
  end,

  where = function(m)
    need(m.a.dtype == "uint8" or m.b.dtype == "int8", "there is no kernel for these types", m.a)
    need(m.b:dim(-2) ~= 0, "the op does not clear a product of no columns", m.b)
    need(not m.za or is_one(m.za), "not one zero point for all rows", m.za)
    m.first, m.second = m.sa, m.sb
    if m.first and not is_one(m.first) then m.first, m.second = m.sb, m.sa end
    need(not m.first or is_one(m.first), "neither factor is one number", m.first)
    local function is_of_columns(v) return is_one(v) or m.b:rank() == 2 and v:shape "N" end
    need(is_of_columns(m.second), "not a scale for all of b or for each column", m.second)
    need(not m.zb or is_of_columns(m.zb), "not a zero point for all of b or for each column", m.zb)
  end,

  rewrite = function(op, m)
    return op["com.microsoft"].MatMulIntegerToFloat(m.a, m.b, m.first or 1, m.second, m.za, m.zb)
  end,

  examples = {
    { "two products of one activation", [[
        (float[2,3,4] x) => (float[2,3,2] y, float[2,3,2] z)
        <int8[4,2] v = {1,-2,3,-4,5,-6,7,-8}, float sv = {0.5}, int8 zv = {1},
          int8[4,2] w = {8,7,6,5,4,3,2,1}, float[2] sw = {0.25,2.0}, int8[2] zw = {1,0}> {
          q, s, o = DynamicQuantizeLinear(x)
          p = MatMulInteger(q, v, o, zv)
          f = Cast <to = 1> (p)
          t = Mul(s, sv)
          y = Mul(f, t)
          i = MatMulInteger(q, w, o, zw)
          g = Cast <to = 1> (i)
          u = Mul(sw, s)
          z = Mul(u, g)
        }]],
      [[q, s, o = DynamicQuantizeLinear(x)
        y = com.microsoft.MatMulIntegerToFloat(q, v, s, sv, o, zv)
        z = com.microsoft.MatMulIntegerToFloat(q, w, s, sw, o, zw)]] },
    { "one factor, no zero points", [[
        (int8[3,4] a, int8[2,4,5] b, float s) => (float[2,3,5] y) {
          p = MatMulInteger(a, b)
          f = Cast <to = 1> (p)
          y = Mul(f, s)
        }]],
      [[one = Constant <value = float {1.0}> ()
        y = com.microsoft.MatMulIntegerToFloat(a, b, one, s)]] },
    { "columns of several matrices", [[
        (uint8[3,4] a, uint8[2,4,5] b, float s) => (float[2,3,5] y) <float[5] c = {1,2,3,4,5}> {
          p = MatMulInteger(a, b)
          f = Cast <to = 1> (p)
          t = Mul(s, c)
          y = Mul(f, t)
        }]],
      rejected = "not a scale for all of b or for each column" },
  },
}
