// How operands lined up before opset 7. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_LINED_UP_H_
#define RULEENGINE_KERNELS_CPU_LINED_UP_H_

#include "kernels/cpu/shapes.h"

namespace ruleengine::kernels {

// `b` with the axes of size 1 that make it broadcast to `a` as the attribute
// `axis` says, which names the axis of `a` that the first of `b` lines up with.
inline Tensor lined_up(KernelContext& c, const Tensor& a, const Tensor& b) {
  if (c.opset() >= 7 || !c.attribute_flag("broadcast") ||
      !c.has_attribute("axis")) {
    return b;
  }
  const std::size_t axis = axis_of(c.attribute_int("axis"), a.rank());
  Dims dims(b.dims());
  while (dims.size() + axis < a.rank()) dims.push_back(1);
  return b.reshaped(dims);
}

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_LINED_UP_H_
