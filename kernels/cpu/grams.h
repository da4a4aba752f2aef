// Counting sequences of tokens. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_GRAMS_H_
#define RULEENGINE_KERNELS_CPU_GRAMS_H_

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

void tf_idf_vectorizer(KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_GRAMS_H_
