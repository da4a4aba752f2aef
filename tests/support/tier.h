// The size of samples in random and systematic tests (tests/support/tier.py).
#ifndef RULEENGINE_TESTS_SUPPORT_TIER_H_
#define RULEENGINE_TESTS_SUPPORT_TIER_H_

#include <cstdlib>
#include <string_view>

namespace ruleengine {

// Whether all of it, as ./test --all asks for.
inline bool runs_all() {
  const char* tier = std::getenv("RULEENGINE_TESTS");
  return tier != nullptr && std::string_view(tier) == "all";
}

}  // namespace ruleengine

#endif  // RULEENGINE_TESTS_SUPPORT_TIER_H_
