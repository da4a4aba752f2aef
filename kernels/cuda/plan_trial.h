// A plan of cuDNN is tried once before it is trusted: versions of cuDNN are
// known that give wrong results for some attentions. Internal to kernels/cuda.
#pragma once

#include <functional>

#include "kernels/cuda/attending.h"

namespace ruleengine::kernels::cuda {

enum class Verdict : std::uint8_t {
  kRight,
  kWrong,
  kNone,  // it did not run, or all results are 0, which tells nothing
};

// Whether a plan gives what the kernel of ours does, for random queries, keys
// and values and the masks of `a`; between the rows of its views and behind
// them is NaN, which a plan may not let into a result. `run` adds the plan to
// the work with other tensors, and says whether that was taken. Waits for the
// work. The tensors are not those of an arena, as other runs do not have them.
Verdict try_plan(
    Call& c, const AttentionParts& parts, const GpuAttending& a,
    const std::function<bool(const GpuAttending& a, std::byte* to)>& run);

}  // namespace ruleengine::kernels::cuda
