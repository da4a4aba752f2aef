--- Replace the engine's collectives by those of another runtime.
local foreign = lib "foreign_collectives"

return rule {
  doc = [[
    all_reduce(x)   =>   com.microsoft.AllReduce(x)      for each op that an option names

    The inverse of `adopt_collectives`, with the same options. No pack has it, since the two rules would undo each other
    endlessly: run it by itself, after the run that shards the tokens. The group is written as a list of ranks, with
    `sized` as their number, and not at all if `ranks` gives it for the whole model.]],
  phase = "parallel",
  options = foreign.options,

  pass = function(graph, op, options)
    for _, kind in ipairs(foreign.KINDS) do
      local domain, type = foreign.op(options[kind])
      for _, node in ipairs(domain and graph:nodes{ op = kind, domain = "tensor_cast" } or {}) do
        attempt(node, function()
          local group = need(node.attrs.rank_group, "the node does not say its ranks", node)
          local x, y = node.inputs[1], node.outputs[1]
          need(kind ~= "all_reduce" or not y:rank() or x:rank() == y:rank(), "wrong declared shape of the sum", node)
          local attributes = { node.inputs[1] }
          local counted, all = true, foreign.all_ranks(#group)
          for i, rank in ipairs(group) do counted = counted and rank == all[i] end
          need(counted or not options.sized, "a number says no other ranks than the first ones", node)
          if not counted or #group ~= options.ranks then
            attributes[options.group] = options.sized and #group or group
          end
          if kind ~= "all_reduce" then attributes[options.axis] = node.attrs.dim end
          node.outputs[1]:replace_with(op[domain][type](attributes))
        end)
      end
    end
  end,

  examples = {
    { "a gather with the number of its ranks", [[
        (float[4,8] x) => (float[8,8] y) { y = tensor_cast.all_gather <dim = 0, rank = 0, rank_group = [0,1]> (x) }]],
      "y = com.microsoft.AllGather <axis = 0, group_size = 2> (x)",
      options = { all_gather = "com.microsoft::AllGather", group = "group_size", sized = true } },
    { "all ranks of the model, and two of them", [[
        (float[4,8] x) => (float[4,8] y) {
          s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
          y = tensor_cast.all_reduce <rank = 0, rank_group = [0,1,2,3]> (s)
        }]],
      "s = acme.AllReduce <group = [0,1]> (x) y = acme.AllReduce(s)",
      options = { all_reduce = "acme::AllReduce", ranks = 4 } },
    { "a number for ranks that are not the first", [[
        (float[4,8] x) => (float[4,8] y) { y = tensor_cast.all_reduce <rank = 2, rank_group = [2,3]> (x) }]],
      rejected = "a number says no other ranks than the first ones",
      options = { all_reduce = "acme::AllReduce", sized = true } },
    { "one of no ranks beside one of two", [[
        (float[4,8] x) => (float[4,8] y, float[4,8] z) {
          y = tensor_cast.all_reduce <rank = 0> (x)
          z = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
        }]],
      "y = tensor_cast.all_reduce <rank = 0> (x) z = acme.AllReduce <group = [0,1]> (x)",
      options = { all_reduce = "acme::AllReduce" } },
    { "one of no ranks", [[
        (float[4,8] x) => (float[4,8] y) { y = tensor_cast.all_reduce <rank = 0> (x) }]],
      rejected = "the node does not say its ranks",
      options = { all_reduce = "acme::AllReduce" } },
    { "one that no option names", [[
        (float[4,8] x) => (float[4,8] y) { y = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x) }]],
      "y = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)",
      options = { all_gather = "com.microsoft::AllGather" } },
    { "a sum that gets another axis", [[
        (float[4,8] x) => (float[1,4,8] y) { y = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x) }]],
      rejected = "wrong declared shape of the sum", options = { all_reduce = "acme::AllReduce" } },
  },
}
