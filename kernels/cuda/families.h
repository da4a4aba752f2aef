// The list of all families of kernels for the GPU. Internal to kernels/cuda.
#pragma once

#include "kernels/cuda/kernel.h"

namespace ruleengine::kernels::cuda {

// moves: copies a block within the memory of the session.
void copy_strided(Session& session, const runtime::StridedCopy& block);
// The bits of a number, rounded to the type; an integer of the largest or the
// least value where it is infinite.
std::uint64_t bits_of(double value, DataType dtype);
// Each element of a tensor becomes the first bytes of `value`.
void fill(Session& session, Tensor& out, std::uint64_t value);

extern const KernelRows kElementwiseRows, kMoveRows, kProductRows, kRowRows;

inline constexpr const KernelRows* kFamilies[] = {&kElementwiseRows, &kMoveRows,
                                                  &kProductRows, &kRowRows};

}  // namespace ruleengine::kernels::cuda
