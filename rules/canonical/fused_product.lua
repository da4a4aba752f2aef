--- Write ONNX Runtime's product with transposes and a factor as a MatMul.
return rule {
  doc = [[
    FusedMatMul(a, b)   =>   alpha op(a) op(b)      op: the transposes that the attributes say

    ONNX Runtime's optimizers write scores, and layers with transposed weights, so.]],
  phase = "canonical",

  match = function(op)
    return op["com.microsoft"].FusedMatMul{any, any, attrs = any}:as "product"
  end,

  rewrite = function(_, m) return m.product:inline() end,

  examples = {
    { "scores of heads", [[
        (float[2,4,8,16] q, float[2,4,6,16] k) => (float[2,4,8,6] y) {
          y = com.microsoft.FusedMatMul <transB = 1, alpha = 0.25> (q, k)
        }]],
      [[c = Constant <value = float {0.25}> ()
        d = Mul(q, c)
        kt = Transpose <perm = [0,1,3,2]> (k)
        y = MatMul(d, kt)]] },
    { "rows before heads, and before the batch", [[
        (float[8,2,4,16] q, float[6,2,4,16] k) => (float[2,4,8,6] y) {
          y = com.microsoft.FusedMatMul <transBatchA = 1, transB = 1, transBatchB = 1, alpha = 8.0> (q, k)
        }]],
      [[c = Constant <value = float {8.0}> ()
        qt = Transpose <perm = [1,2,0,3]> (q)
        kt = Transpose <perm = [1,2,3,0]> (k)
        s = MatMul(qt, kt)
        y = Mul(s, c)]] },
  },
}
