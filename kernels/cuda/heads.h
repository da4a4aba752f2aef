// Heads of queries, keys or values as they lie in tensors. Internal to
// kernels/cuda.
#pragma once

#include "kernels/attention.h"
#include "kernels/cuda/attention/description.h"
#include "kernels/cuda/kernel.h"

namespace ruleengine::kernels::cuda {

// [batch, heads, rows, size] as it lies in a tensor.
struct HeadView {
  const std::byte* data = nullptr;
  std::int64_t batch = 1, heads = 1, rows = 0, size = 0;
  FourSizes strides{};
};
// Of [batch, heads, rows, size], or of [batch, rows, heads * size].
HeadView head_view(const Tensor& x, std::int64_t heads);
// The input as an attention reads it: a view as it is where its rows are
// vectors, else dense.
Tensor with_whole_rows(const Call& c, const Tensor& x);
// The queries, keys and values may be views.
inline constexpr ops::Inputs kAttentionViews = 1 << kQ | 1 << kK | 1 << kV;

// Output `i`, of [batch, heads, rows, size]; with the heads of a row beside
// each other where that is how it is read.
class HeadOutput {
 public:
  HeadOutput(const Preparation& p, std::size_t i);
  Tensor& make(Call& c, DataType type, Shape dims) const;

 private:
  std::size_t i_;
  bool is_swapped_ = false;  // a Transpose reads it
};

}  // namespace ruleengine::kernels::cuda
