// The list of all families of kernels for the GPU. Internal to kernels/cuda.
#pragma once

#include "kernels/cuda/kernel.h"

namespace ruleengine::kernels::cuda {

extern const KernelRows kMoveRows;

inline constexpr const KernelRows* kFamilies[] = {&kMoveRows};

}  // namespace ruleengine::kernels::cuda
