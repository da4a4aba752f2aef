--- A norm of a sum, and the sum, as the two.
return rule {
  doc = [[ add_rms_norm2(x, residual, w)   =>   rms_norm(x + residual, w), x + residual ]],
  phase = "target",

  match = function(op, x, residual, w, epsilon)
    return op.tensor_cast.add_rms_norm2{x, residual, maybe(w), epsilon = epsilon, outputs = 2}
  end,
  rewrite = function(op, m)
    local sum = op.Add(m.x, m.residual)
    return op.tensor_cast.rms_norm{sum, m.w, epsilon = m.epsilon}, sum
  end,

  examples = {
    { "both are read", [[
        (float[3,2] x, float[3,2] r, float[2] w) => (float[3,2] y, float[3,2] s) {
          y, s = tensor_cast.add_rms_norm2 <epsilon = 0.5> (x, r, w)
        }]],
      [[s = Add(x, r)
        y = tensor_cast.rms_norm <epsilon = 0.5> (s, w)]] },
    { "a residual with another axis", [[
        (float[3,2] x, float[1,3,2] r, float[2] w) => (float[3,2] y, float[3,2] s) {
          y, s = tensor_cast.add_rms_norm2(x, r, w)
        }]],
      rejected = "shape" },
  },
}
