return pack {
  doc = [[
    The engine's own ops in standard ones, each by its meaning (docs/dialect.md), which is also its function body. The
    packs of targets have these rules too; `rules/*.lua` never runs them.

    The pack `attention` decomposes MultiheadAttention and ShiftedWindowAttention, which models contain. Collectives of
    several ranks have no standard ops.]],

  "ours",
  "collective_of_one",
  "../simplify/joined_transposes",
}
