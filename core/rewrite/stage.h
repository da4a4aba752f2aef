// Stages: the rules of an act in the order in which they run: by phase, and
// within a phase by `after`. The rules of a stage share one program and one
// worklist. Immutable and thread-safe: stages are made once and serve for any
// number of models.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/match/program.h"
#include "core/rewrite/rule.h"

namespace ruleengine::rewrite {

struct Stage {
  // Indices into the rules of the run. `matching` are those with a pattern:
  // rule i of the program is `matching[i]`.
  std::vector<std::uint32_t> all, matching;
  bool has_groups = false;
  std::optional<match::Program> program;  // none if no rule has a pattern
};
using Stages = std::vector<Stage>;

// The stages of the rules in `members` (ascending indices). A cycle in `after`
// is kRule.
Result<Stages> make_stages(std::span<Rule* const> rules,
                           std::span<const std::uint32_t> members);
// The stages of all rules.
Result<Stages> make_stages(std::span<Rule* const> rules);

}  // namespace ruleengine::rewrite
