// Plans of cuDNN for the attentions of a session. All sessions of the process
// share the plans; each has a handle for its stream. Internal to kernels/cuda.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "kernels/cuda/attention/cudnn.h"
#include "kernels/cuda/attention/plan_cache.h"
#include "kernels/cuda/attention/plans_ahead.h"
#include "kernels/cuda/kernel.h"

namespace ruleengine::kernels::cuda {

// The list of the file that the environment names, or the one that is built in.
Result<BlockedVersions> blocked_versions();

// Of the plans of this process.
PlanCounts plan_counts();

class AttentionEngine {
 public:
  // nullptr where there is no cuDNN.
  static std::unique_ptr<AttentionEngine> open(Session& session);

  // nullopt where cuDNN has none. While a run is recorded none is built: throws
  // Failure where it is not known.
  std::optional<AttentionPlan> plan_for(const AttentionDescription& d);
  // Adds an attention to the work; whether the plan took it. One that never
  // does is refused.
  bool execute(const Call& c, const AttentionDescription& d,
               const AttentionPlan& plan, const AttentionPointers& at);
  // Plans for other lengths are built before they are asked for.
  void build_ahead(const AttentionDescription& d) { ahead_->add(d); }
  // Until they are there; `check` is called meanwhile, and may throw.
  void settle(const std::function<void()>& check) { ahead_->wait(check); }
  // A plan that does not work is not asked for again, nor by other processes.
  void refuse(const AttentionDescription& d, Diagnostic why) {
    plans_.refuse(d, std::move(why), true);
  }
  // A plan that could not be tried is not tried again by this session.
  void postpone(const AttentionDescription& d) { postponed_.insert(d.key()); }
  bool is_postponed(const AttentionDescription& d) const {
    return !postponed_.empty() && postponed_.contains(d.key());
  }

 private:
  AttentionEngine(Session& session, AttentionPlans& plans,
                  HandlePointer handle);

  Session& session_;
  AttentionPlans& plans_;
  HandlePointer handle_;
  std::shared_ptr<PlansAhead> ahead_;
  std::set<std::string> postponed_;  // keys
};

}  // namespace ruleengine::kernels::cuda
