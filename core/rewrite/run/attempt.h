// Attempt: rewrites one match or one group, either to keep the edit (a run) or
// only to show it (find_matches). Internal to core/rewrite; borrows the state
// of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/small_vector.h"
#include "core/rewrite/run/run_state.h"

namespace ruleengine::rewrite {

// Runs `where` and the engine's own checks before it: a candidate, or the
// reason for rejection.
Result<Rule::Filtered> pass(RunState& state, GraphRun& run, std::uint32_t rule,
                            const match::Match& match,
                            std::vector<Warning>& warnings);

// The rewrite of one match, or of the members of one group. Its arguments must
// outlive it; the destructor undoes an edit that was not kept.
class Attempt {
 public:
  Attempt(RunState& state, GraphRun& run, std::uint32_t rule,
          Candidates candidates, Matches matches);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  enum class Ending { kKeep, kShow };
  // Builds, then keeps a valid edit or undoes it. Errors are those of the rule.
  Status run(Ending ending);

  const Edit& edit() const { return edit_; }
  std::span<const ir::NodeId> consumed() const { return consumed_; }
  // The reason for rejection, if it was rejected.
  std::optional<Rejection>& rejection() { return rejection_; }
  // If the members may not be rewritten as one: the sets that may, as lists of
  // indices; nothing was kept. Empty if they may.
  const Parts& parts() const { return parts_; }
  // The nodes that would be removed besides the matched ones, since nothing
  // reads them any more; ascending. Only set if the edit is shown.
  const std::vector<ir::NodeId>& dead() const { return dead_; }

 private:
  void find_dead();

  RunState& state_;
  GraphRun& run_;
  Rule& rule_;
  Candidates candidates_;
  SmallVector<ir::NodeId, 8> consumed_, context_, integers_;
  Edit edit_;
  std::optional<Rejection> rejection_;
  Parts parts_;
  std::vector<ir::NodeId> dead_;
};

}  // namespace ruleengine::rewrite
