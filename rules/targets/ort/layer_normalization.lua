--- A norm that is computed in float as a norm of float16 in ONNX Runtime.
local norm = lib "norm"

-- v in the type of x: the value before its Cast, or a constant that is exact in that type.
local function narrow(op, v, x)
  if not v then return nil end
  local made = v.producer
  if made and made.op == "Cast" and made.inputs[1].dtype == x.dtype then return made.inputs[1] end
  local short = op.Cast{v, to = x.dtype}
  local equal = op.ReduceMin{op.Cast{op.Equal(op.Cast{short, to = "float"}, v), to = "int32"}, keepdims = 0}
  need(equal:scalar() == 1, "the weights are not exact in float16", v)
  return short
end

return rule {
  doc = [[
    cast(LayerNormalization(cast(x), cast(w), cast(b)))   =>   LayerNormalization(x, w, b)

    For x of a smaller type than float: ONNX Runtime computes in float and rounds once, at the end. The standard also
    rounds the quotient and the product, so this rule is for ONNX Runtime only.]],
  phase = "target",

  match = function(op, x, w, b)
    local wide = op.Cast{x, to = any}:as "widened"
    return op.Cast{op.LayerNormalization{wide, w, maybe(b), attrs = any}:as "norm", to = any}:as "narrowed"
  end,

  where = function(m)
    need(m.x.dtype == "float16", "the norm is not in float16", m.x)
    norm.need_runtimes(m, m.x)
    need(m.norm.attrs.stash_type == 1, "the norm is not computed in float", m.x)
  end,

  rewrite = function(op, m)
    return op.LayerNormalization{m.x, narrow(op, m.w, m.x), narrow(op, m.b, m.x), axis = m.norm.attrs.axis,
      epsilon = m.norm.attrs.epsilon}
  end,

  examples = {
    { "weights that were float16", [[
        (float16[2,3,4] x, float16[4] w) => (float16[2,3,4] y) <float[4] b = {0.5, -1.0, 0.0, 2.0}> {
          xf = Cast <to = 1> (x)
          wf = Cast <to = 1> (w)
          n = LayerNormalization <axis = 2, epsilon = 0.001> (xf, wf, b)
          y = Cast <to = 10> (n)
        }]],
      [[b2 = Constant <value = float16[4] {0.5, -1.0, 0.0, 2.0}> ()
        y = LayerNormalization <axis = 2, epsilon = 0.001> (x, w, b2)]] },
    { "a weight that is not exact in float16", [[
        (float16[2,3,4] x, float16[4] b) => (float16[2,3,4] y) <float[4] w = {0.5, -1.0, 0.1, 2.0}> {
          xf = Cast <to = 1> (x)
          bf = Cast <to = 1> (b)
          n = LayerNormalization(xf, w, bf)
          y = Cast <to = 10> (n)
        }]],
      rejected = "the weights are not exact in float16" },
    { "from float to float16", [[
        (float[2,3,4] x, float[4] w) => (float16[2,3,4] y) {
          d = Cast <to = 11> (x)
          wd = Cast <to = 11> (w)
          n = LayerNormalization(d, wd)
          y = Cast <to = 10> (n)
        }]],
      rejected = "the norm is not in float16" },
  },
}
