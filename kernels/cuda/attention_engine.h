// What computes attentions of a session: plans of cuDNN, which all sessions of
// the process share, and a handle for the session's stream. Internal to
// kernels/cuda.
#pragma once

#include "kernels/cuda/attention/cudnn.h"
#include "kernels/cuda/attention/plan_cache.h"
#include "kernels/cuda/kernel.h"

namespace ruleengine::kernels::cuda {

// Declines what no engine computes here: cuDNN takes float16 and bfloat16, and
// heads whose size is a multiple of 8. The one place that chooses an engine.
// `sizes`: of the heads of queries and of values; nullopt where not known.
void need_engine(DataType type, std::optional<std::int64_t> qk_size,
                 std::optional<std::int64_t> v_size);

class AttentionEngine {
 public:
  // Throws Declined where there is no cuDNN.
  explicit AttentionEngine(Session& session);

  // Adds an attention to the work. Throws Failure where cuDNN refuses it.
  void run(const Call& c, const AttentionDescription& d,
           const AttentionPointers& at);

 private:
  Session& session_;
  AttentionPlans& plans_;
  HandlePointer handle_;
};

}  // namespace ruleengine::kernels::cuda
