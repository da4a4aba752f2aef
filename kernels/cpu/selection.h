// Kernels of the family `selection` that have a file of their own. Internal to
// kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_SELECTION_H_
#define RULEENGINE_KERNELS_CPU_SELECTION_H_

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

void non_max_suppression(KernelContext& c);
void unique(KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_SELECTION_H_
