// Repetition in a sequence of numbers: where the same stretch stands several
// times in a row. A pure function; time linear in the sequence but for
// logarithms.
#ifndef RULEENGINE_CORE_DRAW_REPEATS_H_
#define RULEENGINE_CORE_DRAW_REPEATS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ruleengine::draw {

// items[start, start + period) stands `count` times in a row.
struct Run {
  std::size_t start = 0, period = 0, count = 0;
};

// Runs that are worth folding, apart from each other, ascending. `weights` are
// the nodes behind each item: a stretch of less than six is left alone.
std::vector<Run> repeats(std::span<const std::uint64_t> items,
                         std::span<const std::size_t> weights);

}  // namespace ruleengine::draw

#endif  // RULEENGINE_CORE_DRAW_REPEATS_H_
