// The size of samples in random and systematic tests (tests/support/tier.py).
#pragma once

#include <cstdlib>
#include <string_view>

namespace ruleengine {

// Whether all of it, as ./test --all asks for.
inline bool runs_all() {
  const char* tier = std::getenv("RULEENGINE_TESTS");
  return tier != nullptr && std::string_view(tier) == "all";
}

}  // namespace ruleengine
