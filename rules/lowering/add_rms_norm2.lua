--- A norm of a sum, and the sum, in standard ops.
return rule {
  doc = [[ add_rms_norm2(x, residual, w)   =>   rms_norm(x + residual, w), x + residual ]],
  phase = "target",

  match = function(op, x)
    local y, sum = op.tensor_cast.add_rms_norm2{x, inputs = any, attrs = any, outputs = 2}
    return y:as "call", sum
  end,
  rewrite = function(_, m) return m.call:inline() end,

  examples = {
    { "both are read", [[
        (float[3,2] x, float[3,2] r, float[2] w) => (float[3,2] y, float[3,2] s) {
          y, s = tensor_cast.add_rms_norm2 <epsilon = 0.5> (x, r, w)
        }]],
      [[s = Add(x, r)
        last = Constant <value = int64[1] {-1}> ()
        q = Mul(s, s)
        m = ReduceMean(q, last)
        e = Constant <value = float {0.5}> ()
        a = Add(m, e)
        t = Sqrt(a)
        n = Div(s, t)
        y = Mul(n, w)]] },
    { "a residual with another axis", [[
        (float[3,2] x, float[1,3,2] r, float[2] w) => (float[3,2] y, float[3,2] s) {
          y, s = tensor_cast.add_rms_norm2(x, r, w)
        }]],
      rejected = "shape" },
  },
}
