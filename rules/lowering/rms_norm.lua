--- A norm by the root of the mean square in standard ops.
local number = lib "number"

return rule {
  doc = [[ rms_norm(x, w)   =>   x / sqrt(mean(x^2) + epsilon) * w    along the last axis; halves in float ]],
  phase = "target",

  match = function(op, x, w, epsilon) return op.tensor_cast.rms_norm{x, maybe(w), epsilon = epsilon} end,

  rewrite = function(op, m)
    local x = number.wide(op, m.x)
    local y = op.Div(x, op.Sqrt(op.Add(op.ReduceMean(op.Mul(x, x), {-1}), m.epsilon)))
    if m.w then y = op.Mul(y, number.wide(op, m.w)) end
    return number.narrow(op, y, m.x)
  end,

  examples = {
    { "with a weight", [[
        (float[3,2] x, float[2] w) => (float[3,2] y) { y = tensor_cast.rms_norm <epsilon = 0.5> (x, w) }]],
      [[s = Mul(x, x)
        last = Constant <value = int64[1] {-1}> ()
        m = ReduceMean(s, last)
        e = Constant <value = float {0.5}> ()
        a = Add(m, e)
        r = Sqrt(a)
        n = Div(x, r)
        y = Mul(n, w)]] },
    { "halves", [[
        (float16[3,2] x) => (float16[3,2] y) { y = tensor_cast.rms_norm <epsilon = 0.5> (x) }]],
      [[f = Cast <to = 1> (x)
        s = Mul(f, f)
        last = Constant <value = int64[1] {-1}> ()
        m = ReduceMean(s, last)
        e = Constant <value = float {0.5}> ()
        a = Add(m, e)
        r = Sqrt(a)
        n = Div(f, r)
        y = Cast <to = 10> (n)]] },
  },
}
