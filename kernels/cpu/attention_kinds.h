// Kernels of attention in files of their own. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_ATTENTION_KINDS_H_
#define RULEENGINE_KERNELS_CPU_ATTENTION_KINDS_H_

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

// Scores and weights pass through subgraphs.
void flex_attention(KernelContext& c);
// A state per head instead of softmax.
void linear_attention(KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_ATTENTION_KINDS_H_
