// Ensembles of decision trees. Internal to kernels/cpu.
#pragma once

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

Op tree_ensemble(const Preparation& p);

// What becomes of a row of scores.
enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
PostTransform post_transform(const Preparation& p);
void transform_row(PostTransform how, double* row, std::int64_t n);

}  // namespace ruleengine::kernels
