// The list of all families of kernels for the GPU. Internal to kernels/cuda.
#pragma once

#include "kernels/cuda/kernel.h"

namespace ruleengine::kernels::cuda {

// moves: copies a block within the memory of the session.
void copy_strided(Session& session, const runtime::StridedCopy& block);

extern const KernelRows kElementwiseRows, kMoveRows, kRowRows;

inline constexpr const KernelRows* kFamilies[] = {&kElementwiseRows,
                                                  &kMoveRows};

}  // namespace ruleengine::kernels::cuda
