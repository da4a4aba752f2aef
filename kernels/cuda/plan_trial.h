// A plan of cuDNN is tried once before it is trusted: versions of cuDNN are
// known that give wrong results for some attentions. Internal to kernels/cuda.
#pragma once

#include <functional>

#include "kernels/cuda/attending.h"

namespace ruleengine::kernels::cuda {

// Whether a plan gives what the kernel of ours does, for random queries, keys
// and values and the masks of `a`. `run` adds the plan to the work with other
// tensors, and says whether that was taken. Waits for the work.
bool passes_trial(
    Call& c, const AttentionParts& parts, const GpuAttending& a,
    const std::function<bool(const GpuAttending& a, std::byte* to)>& run);

}  // namespace ruleengine::kernels::cuda
