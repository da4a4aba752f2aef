// Attempt: what becomes of a match, whether it is kept (a run) or only shown
// (find_matches): which match passes, and which rewrite of it, or of a group of
// them, holds. Internal to core/rewrite; borrows the state of a run.
#ifndef RULEENGINE_CORE_REWRITE_RUN_ATTEMPT_H_
#define RULEENGINE_CORE_REWRITE_RUN_ATTEMPT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/small_vector.h"
#include "core/rewrite/run/run_state.h"

namespace ruleengine::rewrite {

using Matches = std::span<const match::Match* const>;

// `where`, and what the engine asks before it: a candidate, or why not.
Result<Rule::Filtered> pass(RunState& state, GraphRun& run, std::uint32_t rule,
                            const match::Match& match,
                            std::vector<Warning>& warnings);

// The rewrite of one match, or of the members of one group. What it is given
// outlives it; what was not kept is undone with it.
class Attempt {
 public:
  Attempt(RunState& state, GraphRun& run, std::uint32_t rule,
          std::span<Candidate* const> candidates, Matches matches);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  enum class Ending { kKeep, kShow };
  // Builds, and keeps what holds or undoes all. Errors are those of the rule.
  Status run(Ending ending);

  const Edit& edit() const { return edit_; }
  std::span<const ir::NodeId> consumed() const { return consumed_; }
  // Why it does not hold, if it does not.
  std::optional<Rejection>& rejection() { return rejection_; }
  // The members do not go together, but those of each part may (by their
  // places); nothing was kept. Empty where they do.
  const std::vector<std::vector<std::size_t>>& parts() const { return parts_; }
  // What would go besides what was matched: nodes that nothing reads any more.
  // Ascending; where it is only shown.
  const std::vector<ir::NodeId>& dead() const { return dead_; }

 private:
  void find_dead();

  RunState& state_;
  GraphRun& run_;
  Rule& rule_;
  std::span<Candidate* const> candidates_;
  SmallVector<ir::NodeId, 8> consumed_, context_, integers_;
  Edit edit_;
  std::optional<Rejection> rejection_;
  std::vector<std::vector<std::size_t>> parts_;
  std::vector<ir::NodeId> dead_;
};

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_RUN_ATTEMPT_H_
