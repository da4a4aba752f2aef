// Einsum. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_EINSUM_H_
#define RULEENGINE_KERNELS_CPU_EINSUM_H_

#include "runtime/kernel.h"

namespace ruleengine::kernels {

void einsum(runtime::KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_EINSUM_H_
