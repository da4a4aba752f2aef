// Kernels of pooling that have no windows. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_POOLING_H_
#define RULEENGINE_KERNELS_CPU_POOLING_H_

#include "runtime/kernel.h"

namespace ruleengine::kernels {

void max_roi_pool(runtime::KernelContext& c);
void max_unpool(runtime::KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_POOLING_H_
