// Stages: the rules of a run in the order in which they work: by phase, and
// within a phase those that name others in `after` behind them. The rules of a
// stage share one program and one worklist. Internal to core/rewrite.
#ifndef RULEENGINE_CORE_REWRITE_STAGE_H_
#define RULEENGINE_CORE_REWRITE_STAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/match/known_ops.h"
#include "core/match/program.h"
#include "core/rewrite/rule.h"

namespace ruleengine::rewrite {

struct Stage {
  // Indices into the rules of the run. Those with a pattern come in the order
  // of `patterns`, so that rule i of the program is `matching[i]`.
  std::vector<std::uint32_t> all, matching;
  bool has_groups = false;
  std::optional<match::Program> program;  // none without patterns
  std::shared_ptr<match::KnownOps> known;  // of the run's model
};

// A circle in `after`: kRule.
Result<std::vector<Stage>> make_stages(std::span<Rule* const> rules);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_STAGE_H_
