#include "kernels/cuda/strides.h"

#include <fmt/format.h>

namespace ruleengine::kernels::cuda {

void check_axes(std::size_t count) {
  if (count <= device::kMaxRank) return;
  runtime::fail_limit(
      Remedy::kDevice, "the GPU computes tensors of few axes only",
      fmt::format("{} axes, of which those that go on in each other are one",
                  device::kMaxRank),
      std::to_string(count));
}

}  // namespace ruleengine::kernels::cuda
