// ArgMax, ArgMin, CumProd and CumSum: what runs along one axis. Internal to
// kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_CUMULATIVE_H_
#define RULEENGINE_KERNELS_CPU_CUMULATIVE_H_

#include "runtime/kernel.h"

namespace ruleengine::kernels {

void arg_max(runtime::KernelContext& c);
void arg_min(runtime::KernelContext& c);
void cum_prod(runtime::KernelContext& c);
void cum_sum(runtime::KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_CUMULATIVE_H_
