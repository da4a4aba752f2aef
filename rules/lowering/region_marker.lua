--- Markers of regions go.
return rule {
  doc = [[ _internal_mark_region_begin(x), _internal_mark_region_end(x), _internal_copy_region(x)   =>   x ]],
  phase = "target",

  match = function(op, x)
    local cast = op.tensor_cast
    return either(cast._internal_mark_region_begin{x, region_id = any}, cast._internal_mark_region_end{x, region_id = any},
      cast._internal_copy_region(x))
  end,
  rewrite = function(_, m) return m.x end,

  examples = {
    { "begin, copy, end", [[
        (float[3,2] x) => (float[3,2] y) {
          b = tensor_cast._internal_mark_region_begin <region_id = 1> (x)
          c = tensor_cast._internal_copy_region(b)
          r = Relu(c)
          e = tensor_cast._internal_mark_region_end <region_id = 1> (r)
          y = Tanh(e)
        }]],
      [[r = Relu(x)
        y = Tanh(r)]] },
    { "the first and the last of a model", [[
        (float[3,2] x) => (float[3,2] y) {
          b = tensor_cast._internal_mark_region_begin(x)
          y = tensor_cast._internal_mark_region_end(b)
        }]],
      "y = Identity(x)" },
    { "a marker of somebody else's", [[
        (float[3,2] x) => (float[3,2] y) { y = com.example._internal_mark_region_begin(x) }]],
      "y = com.example._internal_mark_region_begin(x)" },
  },
}
