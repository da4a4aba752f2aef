--- Remove collectives of a single rank.
return rule {
  doc = [[ all_reduce(x), reduce_scatter(x), all_gather(x)   =>   x    if the group is one rank ]],
  phase = "target",

  match = function(op, x, group)
    local cast = op.tensor_cast
    return either(
      cast.all_reduce{x, rank_group = group, rank = any},
      cast.reduce_scatter{x, rank_group = group, rank = any, dim = any},
      cast.all_gather{x, rank_group = group, rank = any, dim = any})
  end,
  where = function(m) need(m.group and #m.group == 1, "the group is not one rank", m.x) end,
  rewrite = function(_, m) return m.x end,

  examples = {
    { "one rank", [[
        (float[3,2] x) => (float[3,2] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0]> (x)
          r = tensor_cast.reduce_scatter <dim = 0, rank = 0, rank_group = [0]> (s)
          g = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0]> (r)
          y = Relu(g)
        }]],
      "y = Relu(x)" },
    { "two ranks", [[
        (float[3,2] x) => (float[3,2] y) { y = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x) }]],
      rejected = "the group is not one rank" },
  },
}
