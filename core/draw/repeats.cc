#include "core/draw/repeats.h"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <unordered_map>

namespace ruleengine::draw {
namespace {

constexpr std::size_t kMostPeriods = 6;  // tried for each length of window
constexpr int kMostRuns = 16;            // of one sequence

// The most frequent distances between equal windows of `width` items.
std::vector<std::size_t> distances(std::span<const std::uint64_t> items,
                                   std::size_t width) {
  std::unordered_map<std::uint64_t, std::size_t> last;
  std::map<std::size_t, std::size_t> counts;
  for (std::size_t i = 0; i + width <= items.size(); ++i) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (std::size_t k = 0; k < width; ++k) {
      hash = (hash ^ items[i + k]) * 1099511628211ULL;
    }
    const auto [at, fresh] = last.emplace(hash, i);
    if (!fresh) {
      ++counts[i - at->second];
      at->second = i;
    }
  }
  using Counted = std::pair<std::size_t, std::size_t>;
  std::vector<Counted> order(counts.begin(), counts.end());
  std::ranges::stable_sort(order, std::greater(), &Counted::second);
  std::vector<std::size_t> out;
  for (const auto& [distance, count] : order | std::views::take(kMostPeriods)) {
    out.push_back(distance);
  }
  return out;
}

class Search {
 public:
  Search(std::span<const std::uint64_t> items,
         std::span<const std::size_t> weights)
      : items_(items), sums_(items.size() + 1) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      sums_[i + 1] = sums_[i] + weights[i];
    }
    for (const std::size_t width : {1, 4, 12}) {
      for (const std::size_t p : distances(items, width)) periods_.push_back(p);
    }
    std::ranges::sort(periods_);
    const auto twice = std::ranges::unique(periods_);
    periods_.erase(twice.begin(), twice.end());
  }

  std::vector<Repeat> all() {
    std::vector<std::pair<std::size_t, std::size_t>> open = {
        {0, items_.size()}};
    std::vector<Repeat> runs;
    while (!open.empty() && runs.size() < kMostRuns) {
      const auto [begin, end] = open.back();
      open.pop_back();
      const Repeat best = best_in(begin, end);
      if (best.count == 0) continue;
      runs.push_back(best);
      open.push_back({begin, best.start});
      open.push_back({best.start + best.period * best.count, end});
    }
    std::ranges::sort(runs, {}, &Repeat::start);
    return runs;
  }

 private:
  std::size_t weight(std::size_t begin, std::size_t end) const {
    return sums_[end] - sums_[begin];
  }

  // The number of nodes saved by folding the run; 0 when it is not worth it.
  std::size_t saved(const Repeat& run) const {
    const std::size_t one = weight(run.start, run.start + run.period);
    if (run.count < 2 || one < 6 || (run.count < 3 && one < 12)) return 0;
    return weight(run.start, run.start + run.period * run.count) - one;
  }

  Repeat best_in(std::size_t begin, std::size_t end) const {
    Repeat best;
    std::size_t most = 0;
    for (const std::size_t period : periods_) {
      std::size_t start = begin;
      for (std::size_t i = begin; i + period <= end; ++i) {
        if (i + period < end && items_[i] == items_[i + period]) continue;
        const Repeat run{start, period, (i - start) / period + 1};
        if (const std::size_t value = saved(run); value > most) {
          most = value;
          best = run;
        }
        start = i + 1;
      }
    }
    return best;
  }

  std::span<const std::uint64_t> items_;
  std::vector<std::size_t> sums_, periods_;
};

}  // namespace

std::vector<Repeat> repeats(std::span<const std::uint64_t> items,
                            std::span<const std::size_t> weights) {
  return Search(items, weights).all();
}

}  // namespace ruleengine::draw
