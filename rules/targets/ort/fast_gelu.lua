--- The GELU that a tanh comes near to, as ONNX Runtime's own op.
local activation = lib "activation"

return rule {
  doc = [[ 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))   =>   com.microsoft.FastGelu(x) ]],
  phase = "target",

  match = function(op, x) return activation.tanh_gelu(op, x) end,

  where = function(m)
    need(m.x.dtype == "float", "FastGelu has no such type on every device", m.x)
    need(m.x:rank() ~= 0, "FastGelu wants an axis", m.x)
  end,

  rewrite = function(op, m) return op["com.microsoft"].FastGelu(m.x) end,

  examples = {
    { "half of it first", [[
        (float[2,3] x) => (float[2,3] y)
        <float three = {3.0}, float c = {0.044715}, float r = {0.7978846}, float one = {1.0}, float half = {0.5}> {
          h = Mul(x, half)
          p = Pow(x, three)
          q = Mul(p, c)
          s = Add(x, q)
          t = Mul(s, r)
          e = Tanh(t)
          a = Add(e, one)
          y = Mul(h, a)
        }]],
      "y = com.microsoft.FastGelu(x)" },
    { "another coefficient", [[
        (float[2,3] x) => (float[2,3] y)
        <float three = {3.0}, float c = {0.05}, float r = {0.7978846}, float one = {1.0}, float half = {0.5}> {
          h = Mul(x, half)
          p = Pow(x, three)
          q = Mul(p, c)
          s = Add(x, q)
          t = Mul(s, r)
          e = Tanh(t)
          a = Add(e, one)
          y = Mul(h, a)
        }]],
      [[half2 = Constant <value = float {0.5}> ()
        h = Mul(x, half2)
        three2 = Constant <value = float {3.0}> ()
        p = Pow(x, three2)
        c2 = Constant <value = float {0.05}> ()
        q = Mul(p, c2)
        s = Add(x, q)
        r2 = Constant <value = float {0.7978846}> ()
        t = Mul(s, r2)
        e = Tanh(t)
        one2 = Constant <value = float {1.0}> ()
        a = Add(e, one2)
        y = Mul(h, a)]] },
    { "in doubles", [[
        (double[2,3] x) => (double[2,3] y)
        <double three = {3.0}, double c = {0.044715}, double r = {0.7978846}, double one = {1.0}, double half = {0.5}> {
          h = Mul(x, half)
          p = Pow(x, three)
          q = Mul(p, c)
          s = Add(x, q)
          t = Mul(s, r)
          e = Tanh(t)
          a = Add(e, one)
          y = Mul(h, a)
        }]],
      rejected = "FastGelu has no such type" },
  },
}
