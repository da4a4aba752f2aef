// Scan. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_SCAN_H_
#define RULEENGINE_KERNELS_CPU_SCAN_H_

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

void scan(KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_SCAN_H_
