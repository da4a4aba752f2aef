// Precedence: which rules of a phase wait for which, by their `after`. The one
// reading of it: rule files are refused by it when they are loaded, and a run
// makes its stages of it. Pure.
#ifndef RULEENGINE_CORE_REWRITE_PRECEDENCE_H_
#define RULEENGINE_CORE_REWRITE_PRECEDENCE_H_

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
  int line = 0;  // 0: not known
  Phase phase = Phase::kCanonical;
  std::span<const std::string> after;
};

// For each rule its level within its phase: one above all that it waits for,
// else 0. A name of `after` means every rule of the phase that answers to it,
// by its name or its qualified name; what nobody answers to waits for nobody.
// Rules that wait for each other, or one for itself: kRule.
Result<std::vector<std::uint32_t>> levels(std::span<const Precedent> rules);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_PRECEDENCE_H_
