--- A norm that is computed in float is one of halves to ONNX Runtime.
local norm = lib "norm"

-- v as the type of x: what it was cast from, or a constant that loses nothing.
local function narrow(op, v, x)
  if not v then return nil end
  local made = v.producer
  if made and made.op == "Cast" and made.inputs[1].dtype == x.dtype then return made.inputs[1] end
  local short = op.Cast{v, to = x.dtype}
  local equal = op.ReduceMin{op.Cast{op.Equal(op.Cast{short, to = "float"}, v), to = "int32"}, keepdims = 0}
  need(equal:scalar() == 1, "the weights are no halves", v)
  return short
end

return rule {
  doc = [[
    cast(LayerNormalization(cast(x), cast(w), cast(b)))   =>   LayerNormalization(x, w, b)

    With x of a smaller type than float: ONNX Runtime computes in float and rounds once, at the end. By the letter of the
    standard the quotient and the product are rounded too, so this is for that runtime alone.]],
  phase = "target",

  match = function(op, x, w, b)
    local wide = op.Cast{x, to = any}:as "widened"
    return op.Cast{op.LayerNormalization{wide, w, maybe(b), attrs = any}:as "norm", to = any}:as "narrowed"
  end,

  where = function(m)
    need(m.x.dtype == "float16", "it is no norm of halves", m.x)
    norm.need_runtimes(m, m.x)
    need(m.norm.attrs.stash_type == 1, "it is not computed in float", m.x)
  end,

  rewrite = function(op, m)
    return op.LayerNormalization{m.x, narrow(op, m.w, m.x), narrow(op, m.b, m.x), axis = m.norm.attrs.axis,
      epsilon = m.norm.attrs.epsilon}
  end,

  examples = {
    { "weights that were halves", [[
        (float16[2,3,4] x, float16[4] w) => (float16[2,3,4] y) <float[4] b = {0.5, -1.0, 0.0, 2.0}> {
          xf = Cast <to = 1> (x)
          wf = Cast <to = 1> (w)
          n = LayerNormalization <axis = 2, epsilon = 0.001> (xf, wf, b)
          y = Cast <to = 10> (n)
        }]],
      [[b2 = Constant <value = float16[4] {0.5, -1.0, 0.0, 2.0}> ()
        y = LayerNormalization <axis = 2, epsilon = 0.001> (x, w, b2)]] },
    { "a weight that is no half", [[
        (float16[2,3,4] x, float16[4] b) => (float16[2,3,4] y) <float[4] w = {0.5, -1.0, 0.1, 2.0}> {
          xf = Cast <to = 1> (x)
          bf = Cast <to = 1> (b)
          n = LayerNormalization(xf, w, bf)
          y = Cast <to = 10> (n)
        }]],
      rejected = "the weights are no halves" },
    { "from floats to halves", [[
        (float[2,3,4] x, float[4] w) => (float16[2,3,4] y) {
          d = Cast <to = 11> (x)
          wd = Cast <to = 11> (w)
          n = LayerNormalization(d, wd)
          y = Cast <to = 10> (n)
        }]],
      rejected = "it is no norm of halves" },
  },
}
