--- Replace another runtime's collectives by the engine's own.
local foreign = lib "foreign_collectives"

return rule {
  doc = [[
    com.microsoft.AllReduce(x)   =>   all_reduce(x)      for each op that an option names

    `all_reduce`, `all_gather` and `reduce_scatter` name the runtime's ops as domain::Op. The group is the op's
    attribute `group`, a list of ranks or their number; without it, `ranks` is the number. `rank` is the rank of this
    program; only rules that slice by it need it. The axis is the attribute `axis`. If a node has an attribute for the
    kind of reduction, `sum` is its value for sums, which may be a number. `ignored` is a comma-separated list of
    attributes to ignore; a node with any other attribute stays unchanged. A later run of `return_collectives` writes
    the ops back.]],
  phase = "canonical",
  options = foreign.options,

  pass = function(graph, op, options)
    for _, kind in ipairs(foreign.KINDS) do
      for _, node in ipairs(foreign.nodes(graph, options[kind])) do
        attempt(node, function()
          local x = node.inputs[1]
          if x and #node.inputs == 1 and #node.outputs == 1 then
            foreign.need_known_attributes(node, kind, options)
            need(foreign.adds_up(node, options), "the option `sum` does not name this reduction", node)
            local attributes = { x, rank = options.rank, rank_group = foreign.group(node, options) }
            if kind ~= "all_reduce" then attributes.dim = foreign.axis(node, options) end
            node.outputs[1]:replace_with(op.tensor_cast[kind](attributes))
          end
        end)
      end
    end
  end,

  examples = {
    { "a sum, its ranks from options", [[
        (float[4,8] x) => (float[4,8] y) { y = com.microsoft.AllReduce(x) }]],
      "y = tensor_cast.all_reduce <rank = 1, rank_group = [0,1]> (x)",
      options = { all_reduce = "com.microsoft::AllReduce", ranks = 2, rank = 1 } },
    { "a gather that says how many they are", [[
        (float[4,8] x) => (float[8,8] y) { y = com.microsoft.AllGather <group_size = 2, axis = 0> (x) }]],
      "y = tensor_cast.all_gather <dim = 0, rank_group = [0,1]> (x)",
      options = { all_gather = "com.microsoft::AllGather", group = "group_size" } },
    { "an attribute that may mean anything", [[
        (float[4,8] x) => (float[4,8] y) { y = acme.AllReduce <group = [0,1], gain = 0.5> (x) }]],
      rejected = "the attribute gain is not known",
      options = { all_reduce = "acme::AllReduce" } },
    { "beside one that says no more than its group", [[
        (float[4,8] x) => (float[4,8] y, float[4,8] z) {
          y = acme.AllReduce <group = [0,1], gain = 0.5> (x)
          z = acme.AllReduce <group = [0,1]> (x)
        }]],
      "y = acme.AllReduce <group = [0,1], gain = 0.5> (x) z = tensor_cast.all_reduce <rank_group = [0,1]> (x)",
      options = { all_reduce = "acme::AllReduce" } },
    { "more ranks than there are", [[
        (float[4,8] x) => (float[4,8] y) { y = acme.AllReduce <group = 1000000000000> (x) }]],
      rejected = "more than 65,536 ranks",
      options = { all_reduce = "acme::AllReduce" } },
    { "a gather that reduces", [[
        (float[4,8] x) => (float[8,8] y) { y = acme.AllGather <op = "sum", group = [0,1], axis = 0> (x) }]],
      rejected = "the attribute op is not known",
      options = { all_gather = "acme::AllGather" } },
    { "a gather along an unknown axis", [[
        (float[4,8] x) => (float[8,8] y) { y = acme.AllGather <group = [0,1]> (x) }]],
      rejected = "the node does not say its axis",
      options = { all_gather = "acme::AllGather" } },
    { "an unknown number of ranks", [[
        (float[4,8] x) => (float[4,8] y) { y = com.microsoft.AllReduce(x) }]],
      rejected = "neither the node nor the option `ranks` gives the ranks",
      options = { all_reduce = "com.microsoft::AllReduce" } },
    { "an option that names no op", [[
        (float[4,8] x) => (float[4,8] y) { y = com.microsoft.AllReduce(x) }]],
      rejected = "a collective is named as domain::Op",
      options = { all_reduce = "com.microsoft.AllReduce" } },
    { "the largest of all", [[
        (float[4,8] x) => (float[4,8] y) { y = acme.AllReduce <op = "max", group = [0,1]> (x) }]],
      rejected = "the option `sum` does not name this reduction",
      options = { all_reduce = "acme::AllReduce" } },
    { "a reduction by its number, of another runtime's sums", [[
        (float[4,8] x) => (float[4,8] y, float[4,8] z) {
          y = acme.AllReduce <reduction = 0, group = [0,1]> (x)
          z = acme.AllReduce <reduction = 2, group = [0,1]> (x)
        }]],
      [[y = acme.AllReduce <reduction = 0, group = [0,1]> (x)
        z = tensor_cast.all_reduce <rank_group = [0,1]> (x)]],
      options = { all_reduce = "acme::AllReduce", sum = "2" } },
    { "a sum by its name", [[
        (float[4,8] x) => (float[4,8] y) { y = acme.AllReduce <op = "SUM", group = [0,1]> (x) }]],
      "y = tensor_cast.all_reduce <rank_group = [0,1]> (x)",
      options = { all_reduce = "acme::AllReduce" } },
  },
}
