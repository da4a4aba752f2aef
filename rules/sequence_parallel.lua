return pack {
  doc = [[
    Norms on each rank's share of the tokens: all_reduce becomes reduce_scatter before a norm and all_gather after it.
    Off unless `--set sequence_parallel.enable=true` is given. A rule that is given by itself is on.]],
  options = { enable = false },

  "sequence_parallel/adopt_collectives",
  "sequence_parallel/p1",
  "sequence_parallel/p2",
  "sequence_parallel/p3",
  "sequence_parallel/chain",
  "sequence_parallel/gather_narrow",
  "sequence_parallel/gather_rows",
}
