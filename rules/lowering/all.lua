return pack {
  doc = [[
    The way back: the engine's own ops in standard ones, each by its one meaning (docs/dialect.md), which is also its function
    body. In no other pack, and never run by `rules/*.lua`.

    MultiheadAttention and ShiftedWindowAttention, which models come with, are taken apart by the pack `attention`. What
    several ranks do together has no standard ops.]],

  "ours",
  "collective_of_one",
  "joined_transposes",
}
