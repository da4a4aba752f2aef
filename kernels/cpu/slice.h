// Slice, and the check of sizes into which an axis is cut. Internal to
// kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_SLICE_H_
#define RULEENGINE_KERNELS_CPU_SLICE_H_

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

void slice(KernelContext& c);

// Fails unless the sizes are those of parts that make up `size`.
void check_parts(const Ints& sizes, std::int64_t size);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_SLICE_H_
