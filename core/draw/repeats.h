// Repetition in a sequence of numbers: where the same items occur several times
// in a row. A pure function; time linear in the sequence except for logarithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ruleengine::draw {

// items[start, start + period) occurs `count` times in a row.
struct Repeat {
  std::size_t start = 0, period = 0, count = 0;
};

// The runs that are worth folding, without overlaps, ascending. `weights` are
// the numbers of nodes of the items; repetitions of fewer than six nodes are
// ignored.
std::vector<Repeat> repeats(std::span<const std::uint64_t> items,
                            std::span<const std::size_t> weights);

}  // namespace ruleengine::draw
