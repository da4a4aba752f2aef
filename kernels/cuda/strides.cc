#include "kernels/cuda/strides.h"

namespace ruleengine::kernels::cuda {

device::Operand stretched(const Tensor& t, Shape dims) {
  if (dims.size() > device::kMaxRank) {
    fail("the GPU computes tensors of few axes only",
         std::to_string(device::kMaxRank) + " axes at most",
         std::to_string(dims.size()));
  }
  // Kernels write what the host calls an output only.
  device::Operand out{
      .data = const_cast<std::byte*>(t.data<std::byte>()),
      .bytes = static_cast<std::int32_t>(runtime::bytes_of(t.dtype(), 1))};
  const Dims strides = broadcast_strides(t.dims(), dims);
  for (std::size_t i = 0; i < strides.size(); ++i) out.strides[i] = strides[i];
  return out;
}

}  // namespace ruleengine::kernels::cuda
