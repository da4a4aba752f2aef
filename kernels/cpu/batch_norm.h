// Normalizations by statistics of channels. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_BATCH_NORM_H_
#define RULEENGINE_KERNELS_CPU_BATCH_NORM_H_

#include "runtime/kernel.h"

namespace ruleengine::kernels {

void batch_normalization(runtime::KernelContext& c);
void instance_normalization(runtime::KernelContext& c);
void group_normalization(runtime::KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_BATCH_NORM_H_
