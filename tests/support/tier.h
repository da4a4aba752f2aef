// The size of samples in random and systematic tests (tests/support/tier.py).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace ruleengine {

// Whether all of it, as ./test --all asks for.
inline bool runs_all() {
  const char* tier = std::getenv("RULEENGINE_TESTS");
  return tier != nullptr && std::string_view(tier) == "all";
}

// Whether number `i` of a systematic test has its turn: every nth, or all.
inline bool has_turn(std::size_t i, std::size_t nth) {
  const char* turn = std::getenv("RULEENGINE_TURN");
  const std::size_t first =
      turn == nullptr ? 0 : std::strtoull(turn, nullptr, 10) % nth;
  return runs_all() || i % nth == first;
}

}  // namespace ruleengine
