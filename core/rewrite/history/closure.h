// The heaviest closed set of items that need one another.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"

namespace ruleengine::rewrite {

// An item, and one that it needs.
using ItemNeed = std::pair<std::uint32_t, std::uint32_t>;

// The closed set (with each item it has what that needs) with the greatest sum
// of weights, as a flag for each item; of several, the one with the fewest
// items. A minimum cut (Picard, 1976), found by Dinic's algorithm. kLimit if
// the deadline has passed.
Result<std::vector<bool>> heaviest_closure(
    std::span<const std::int64_t> weights, std::span<const ItemNeed> needs,
    const Deadline& deadline);

}  // namespace ruleengine::rewrite
