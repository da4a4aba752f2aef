// Plans of cuDNN for the attentions of a session. All sessions of the process
// share the plans; each has a handle for its stream. Internal to kernels/cuda.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/cuda/attention/cudnn.h"
#include "kernels/cuda/attention/plan_cache.h"
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

  // nullopt where cuDNN has none.
  std::optional<AttentionPlan> plan_for(const AttentionDescription& d);
  // Adds an attention to the work; whether the plan took it. One that does not
  // is refused.
  bool execute(const Call& c, const AttentionDescription& d,
               const AttentionPlan& plan, const AttentionPointers& at);
  // Plans for other lengths are built before they are asked for.
  void build_ahead(const AttentionDescription& d);
  // Until they are there; `check` is called meanwhile, and may throw.
  void settle(const std::function<void()>& check);
  // The process does not ask for a plan again that gives wrong results.
  void refuse(const AttentionDescription& d);

 private:
  AttentionEngine(Session& session, AttentionPlans& plans, HandlePointer handle)
      : session_(session), plans_(plans), handle_(std::move(handle)) {}

  Session& session_;
  AttentionPlans& plans_;
  HandlePointer handle_;
};

}  // namespace ruleengine::kernels::cuda
