// Checks the model-local functions as a whole: ids are unique, there is no
// recursion, and the expansion of all calls is bounded (sixty functions that
// each call the next one twice would give 2^60 nodes).
#pragma once

#include <cstdint>

#include "core/io/read/context.h"

namespace ruleengine::io {

// The limit on the nodes of the model after all calls are expanded.
inline constexpr std::uint64_t kMaxExpandedNodes = 1'000'000'000;

bool check_functions(Context& context);

}  // namespace ruleengine::io
