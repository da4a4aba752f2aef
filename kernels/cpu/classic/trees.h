// Ensembles of decision trees. Internal to kernels/cpu.
#pragma once

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

void tree_ensemble(KernelContext& c);

// What becomes of a row of scores.
enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
PostTransform post_transform(const KernelContext& c);
void transform_row(PostTransform how, double* row, std::int64_t n);

}  // namespace ruleengine::kernels
