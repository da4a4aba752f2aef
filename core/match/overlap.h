// Overlap: finds patterns that never match because an earlier one fits wherever
// they do. The check is sound but incomplete: it compares the two patterns part
// by part and ignores conditions in code. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/pattern/pattern.h"

namespace ruleengine::match {

struct Shadow {
  std::uint32_t rule;  // (almost) never matches
  std::uint32_t by;    // because this earlier one always fits
  bool operator==(const Shadow&) const = default;
};

struct Tried {
  const pattern::Pattern* pattern;
  bool always;  // the rule rewrites every match of its pattern
};

// `patterns` are in the order in which they are tried. Reports for each rule
// the first one that shadows it, ascending by rule. If there are very many
// similar rules, the last ones may not be compared.
std::vector<Shadow> shadowed(std::span<const Tried> patterns);

// Whether `general` fits at every root at which `special` fits.
bool covers(const pattern::Pattern& general, const pattern::Pattern& special);

}  // namespace ruleengine::match
