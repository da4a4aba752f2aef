// Heads of queries, keys or values as they lie in tensors. Internal to
// kernels/cuda.
#pragma once

#include "kernels/cuda/attention/description.h"
#include "kernels/cuda/kernel.h"

namespace ruleengine::kernels::cuda {

// [batch, heads, rows, size] as it lies in a tensor.
struct HeadView {
  const std::byte* data = nullptr;
  std::int64_t batch = 1, heads = 1, rows = 0, size = 0;
  FourSizes strides{};

  std::int64_t count() const { return batch * heads * rows * size; }
};
// Of [batch, heads, rows, size], or of [batch, rows, heads * size].
HeadView head_view(const Tensor& x, std::int64_t heads);

}  // namespace ruleengine::kernels::cuda
