// Stages: the rules of an act in the order in which they work: by phase, and
// within a phase those that name others in `after` behind them. The rules of a
// stage share one program and one worklist. Immutable: stages that were made
// once serve for any number of models and threads.
#ifndef RULEENGINE_CORE_REWRITE_STAGE_H_
#define RULEENGINE_CORE_REWRITE_STAGE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/match/program.h"
#include "core/rewrite/rule.h"

namespace ruleengine::rewrite {

struct Stage {
  // Indices into the rules of the run. Those with a pattern are the rules of
  // the program: its rule i is `matching[i]`.
  std::vector<std::uint32_t> all, matching;
  bool has_groups = false;
  std::optional<match::Program> program;  // none without patterns
};
using Stages = std::vector<Stage>;

// Of those rules of the run that `members` names (ascending). A circle in
// `after`: kRule.
Result<Stages> make_stages(std::span<Rule* const> rules,
                           std::span<const std::uint32_t> members);
// Of all.
Result<Stages> make_stages(std::span<Rule* const> rules);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_STAGE_H_
