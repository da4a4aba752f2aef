--- Multiply one softmax with all its values at once.

return rule {
  doc = [[
    p v, p w, ...   =>   Split(p [v w ...])   if p is a softmax

    One attention with wider values instead of several.]],
  phase = "canonical",

  match = function(op, v, E)
    v:shape "... _ E"
    local plain = op.Softmax{any, axis = -1}:as "softmax"
    local guarded = op.Where(op.IsNaN(plain), 0, plain):as "guarded"
    return op.MatMul(context(either(plain, guarded)), v)
  end,

  where = function(m)
    m.p = (m.guarded or m.softmax).outputs[1]
    need(m.p:rank() == m.v:rank(), "the ranks differ", m.v)
    need(type(m.E) == "number", "the width of the values is unknown", m.v)
    m.before = {}
    for i = 1, m.v:rank() - 1 do m.before[i] = m.v.shape[i] end
  end,

  together = function(m) return m.p, m.before end,

  rewrite = function(op, ms)
    local all = op.Concat{ms:all "v", axis = -1}
    return op.Split{op.MatMul(ms[1].p, all), ms:all "E", axis = -1, outputs = #ms}
  end,

  examples = {
    { "two values", [[
        (float[2,4,8,6] x, float[2,4,6,16] v, float[2,4,6,24] w) => (float[2,4,8,16] y, float[2,4,8,24] z) {
          p = Softmax <axis = -1> (x)
          y = MatMul(p, v)
          z = MatMul(p, w)
        }]],
      [[p = Softmax <axis = -1> (x)
        u = Concat <axis = -1> (v, w)
        o = MatMul(p, u)
        s = Constant <value = int64[2] {16,24}> ()
        y, z = Split <axis = -1> (o, s)]] },
    { "no softmax", [[
        (float[2,4,8,6] x, float[2,4,6,16] v, float[2,4,6,24] w) => (float[2,4,8,16] y, float[2,4,8,24] z) {
          p = Relu(x)
          y = MatMul(p, v)
          z = MatMul(p, w)
        }]],
      "p = Relu(x) y = MatMul(p, v) z = MatMul(p, w)" },
  },
}
