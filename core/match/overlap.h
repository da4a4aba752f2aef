// Overlap: patterns that never get a turn because an earlier one fits wherever
// they do. A sound and simple check: what it reports is so (as far as the
// patterns go), and it misses what needs more than comparing the two patterns
// part by part. Pure.
#ifndef RULEENGINE_CORE_MATCH_OVERLAP_H_
#define RULEENGINE_CORE_MATCH_OVERLAP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/pattern/pattern.h"

namespace ruleengine::match {

struct Shadow {
  std::uint32_t rule;  // hardly gets a turn
  std::uint32_t by;    // because this earlier one always fits
  bool operator==(const Shadow&) const = default;
};

struct Tried {
  const pattern::Pattern* pattern;
  bool always;  // a rule that takes whatever its pattern fits
};

// `patterns` in the order in which they are tried; the first that shadows a
// rule is named. Ascending by rule. With very many rules that hardly differ the
// last ones may not be compared.
std::vector<Shadow> shadowed(std::span<const Tried> patterns);

// Whether `general` fits at every root at which `special` does.
bool covers(const pattern::Pattern& general, const pattern::Pattern& special);

}  // namespace ruleengine::match

#endif  // RULEENGINE_CORE_MATCH_OVERLAP_H_
