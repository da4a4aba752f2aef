--- Write a Gemm of two computed matrices as a MatMul.
return rule {
  doc = [[
    Gemm(a, b, c)   =>   alpha (a b) + beta c      with a or b transposed if the attributes say so

    Some exporters write the scores of one head so. If b is a constant, the Gemm is a layer and stays. With a factor of
    0 the operand is not read: infinite numbers in it do not reach the result.]],
  phase = "canonical",

  match = function(op, a, b, c)
    return op.Gemm{a, b, maybe(c), alpha = any, beta = any, transA = any, transB = any}:as "gemm"
  end,

  where = function(m)
    need(not m.a:const() and not m.b:const(), "one operand is a constant, so this is a layer", m.b)
    local y, said = m.gemm.outputs[1], m.gemm.attrs
    need(y.dtype, "the type is unknown", y)
    need(said.alpha ~= 0, "the product is not read", m.gemm)
    local plain = said.alpha == 1 and (not m.c or said.beta == 0 or said.beta == 1)
    need(plain or y:type("float", "float16", "bfloat16", "double"), "factors of integers may be fractions", y)
  end,

  rewrite = function(op, m)
    local said = m.gemm.attrs
    local function turned(x, yes) return yes ~= 0 and op.Transpose{x, perm = {1, 0}} or x end
    local function times(x, factor) return factor ~= 1 and op.Mul(x, factor) or x end
    local y = times(op.MatMul(turned(m.a, said.transA), turned(m.b, said.transB)), said.alpha)
    return m.c and said.beta ~= 0 and op.Add(y, times(m.c, said.beta)) or y
  end,

  examples = {
    { "scores of one head, with a mask", [[
        (float[8,16] q, float[6,16] k, float[8,6] m) => (float[8,6] y) {
          y = Gemm <transB = 1, alpha = 0.25> (q, k, m)
        }]],
      [[c = Constant <value = float {0.25}> ()
        kt = Transpose <perm = [1,0]> (k)
        s = MatMul(q, kt)
        d = Mul(s, c)
        y = Add(d, m)]] },
    { "a sum that is not read", [[
        (float[8,16] q, float[16,6] k, float[8,6] m) => (float[8,6] y) { y = Gemm <beta = 0.0> (q, k, m) }]],
      "y = MatMul(q, k)" },
    { "a product that is not read", [[
        (float[8,16] q, float[16,6] k, float[8,6] m) => (float[8,6] y) { y = Gemm <alpha = 0.0> (q, k, m) }]],
      rejected = "the product is not read" },
    { "integers", [[
        (int32[8,16] q, int32[16,6] k) => (int32[8,6] y) { y = Gemm <alpha = 0.5> (q, k) }]],
      rejected = "factors of integers may be fractions" },
    { "of unknown type", [[
        (float[8,16] x) => (float[8,6] z) {
          q = com.example.Load(x)
          k = com.example.Load2(x)
          y = Gemm(q, k)
          z = com.example.Store(y)
        }]],
      rejected = "the type is unknown" },
    { "one operand is a constant, so this is a layer", [[
        (float[8,16] x) => (float[8,2] y)
        <float[2,16] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32}> {
          y = Gemm <transB = 1> (x, w)
        }]],
      rejected = "one operand is a constant, so this is a layer" },
  },
}
