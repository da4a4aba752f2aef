--- A norm of a sum as the two.
return rule {
  doc = [[ add_rms_norm(x, residual, w)   =>   rms_norm(x + residual, w) ]],
  phase = "target",

  match = function(op, x, residual, w, epsilon)
    return op.tensor_cast.add_rms_norm{x, residual, maybe(w), epsilon = epsilon}
  end,
  rewrite = function(op, m)
    return op.tensor_cast.rms_norm{op.Add(m.x, m.residual), m.w, epsilon = m.epsilon}
  end,

  examples = {
    { "a sum", [[
        (float[3,2] x, float[3,2] r, float[2] w) => (float[3,2] y) {
          y = tensor_cast.add_rms_norm <epsilon = 0.5> (x, r, w)
        }]],
      [[s = Add(x, r)
        y = tensor_cast.rms_norm <epsilon = 0.5> (s, w)]] },
    { "halves, without a weight", [[
        (float16[3,2] x, float16[3,2] r) => (float16[3,2] y) { y = tensor_cast.add_rms_norm(x, r) }]],
      [[s = Add(x, r)
        y = tensor_cast.rms_norm(s)]] },
  },
}
