return pack {
  doc = [[
    Norms on each rank's share of the tokens: all_reduce becomes reduce_scatter before a norm and all_gather behind it.
    Off unless `--set sequence_parallel.enable=true`; the rules given by themselves are on.]],
  options = { enable = false },

  "sequence_parallel/adopt_collectives",
  "sequence_parallel/p1",
  "sequence_parallel/p2",
  "sequence_parallel/p3",
  "sequence_parallel/chain",
  "sequence_parallel/gather_narrow",
  "sequence_parallel/gather_rows",
}
