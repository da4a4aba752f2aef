--- Weigh all values that one softmax weighs at once.

-- Whether p is a softmax, or one with what guards it.
local function is_softmax(p)
  local node = p.producer
  while node and (node.op == "Where" or node.op == "Cast" or node.op == "Dropout") do
    local last = node.inputs[node.op == "Where" and 3 or 1].producer
    node = last or node.op == "Where" and node.inputs[2].producer
  end
  return node and node.op == "Softmax"
end

return rule {
  doc = [[
    p v, p w, ...   =>   Split(p [v w ...])   where p is a softmax

    One attention of wider values, where each would be one of its own.]],
  phase = "canonical",

  match = function(op, p, v, E)
    v:shape "... _ E"
    return op.MatMul(p, v)
  end,

  where = function(m)
    need(is_softmax(m.p), "it is no softmax", m.p)
    need(m.p:rank() == m.v:rank(), "the ranks differ", m.v)
    need(type(m.E) == "number", "the values are of unknown width", m.v)
    local before = {}
    for i = 1, m.v:rank() - 1 do before[i] = tostring(m.v.shape[i]) end
    m.before = table.concat(before, ",")
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
      rejected = "it is no softmax" },
  },
}
