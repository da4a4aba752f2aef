// Precedence: which rules of a phase run after which, by their `after`. Used
// when rule files are loaded, to reject cycles, and when a run makes its
// stages. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/rewrite/rule.h"

namespace ruleengine::rewrite {

// A rule as others name it. The texts belong to the caller.
struct Precedent {
  std::string_view name, qualified;
  std::string_view file;
  int line = 0;  // 0: unknown
  Phase phase = Phase::kCanonical;
  std::span<const std::string> after;
};

// The level of each rule within its phase: 0, or one more than the highest
// level of the rules that it runs after. A name in `after` stands for every
// rule of the phase with that name or qualified name; a name without a rule is
// ignored. A cycle is kRule.
Result<std::vector<std::uint32_t>> levels(std::span<const Precedent> rules);

}  // namespace ruleengine::rewrite
