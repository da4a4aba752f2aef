// Tensors as kernels with strides take them (kernels/cuda/device/strided.h).
// Internal to kernels/cuda.
#pragma once

#include "kernels/cuda/device/strided.h"
#include "kernels/shapes.h"

namespace ruleengine::kernels::cuda {

// Fails beyond the axes that kernels go through.
void check_axes(std::size_t count);

// A loop over the shape of the first tensor, the output; the others broadcast
// to it. No size is 0.
template <std::size_t n>
device::StridedArgs<int{n}> loop_over(
    const std::array<const Tensor*, n>& tensors, int chunk) {
  const Shape shape = tensors[0]->dims();
  std::array<Dims, n> strides;
  for (std::size_t i = 0; i < n; ++i) {
    strides[i] = broadcast_strides(tensors[i]->dims(), shape);
  }
  const Rows<n> joined(shape, strides);
  check_axes(joined.dims().size());
  device::StridedArgs<int{n}> out{};
  for (std::size_t i = 0; i < n; ++i) {
    device::Operand& each = out.operands[i];
    // Kernels write the output only.
    each.data = const_cast<std::byte*>(tensors[i]->template data<std::byte>());
    each.bytes =
        static_cast<std::int32_t>(runtime::bytes_of(tensors[i]->dtype(), 1));
    std::ranges::copy(joined.strides(i), each.strides);
  }
  device::plan(out, joined.dims().data(),
               static_cast<int>(joined.dims().size()), chunk);
  return out;
}

}  // namespace ruleengine::kernels::cuda
