// Tensors as kernels with strides take them (kernels/cuda/device/strided.h).
// Internal to kernels/cuda.
#pragma once

#include "kernels/cuda/device/strided.h"
#include "kernels/shapes.h"

namespace ruleengine::kernels::cuda {

// A tensor in a loop over a shape that it broadcasts to. Fails beyond kMaxRank
// axes.
device::Operand stretched(const Tensor& t, Shape dims);
inline device::Operand whole(const Tensor& t) { return stretched(t, t.dims()); }

template <int n>
void plan_loop(device::StridedArgs<n>& args, Shape dims, int chunk) {
  device::plan(args, dims.data(), static_cast<int>(dims.size()), chunk);
}

}  // namespace ruleengine::kernels::cuda
