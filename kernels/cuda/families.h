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

// elementwise: a kernel of one operand of each element; `out` may be `x`.
void compute_each(Session& session, CUfunction kernel, const Tensor& x,
                  Tensor& out, float alpha = 0);
// out = a op b, by a kernel of two operands; each is broadcast to
// the shape of `out`.
void compute_pairs(Session& session, CUfunction kernel, const Tensor& a,
                   const Tensor& b, Tensor& out);
// out = condition ? a : b, with the same.
void select(Session& session, const Tensor& condition, const Tensor& a,
            const Tensor& b, Tensor& out);

// out = x in the type of `out`; both are numbers of kernels.
void convert(Session& session, const Tensor& x, Tensor& out);

extern const KernelRows kAttentionRows, kElementwiseRows, kGroupedRows,
    kIndexedRows, kLineRows, kMoveRows, kPatternRows, kProductRows, kRotaryRows,
    kRowRows;

inline constexpr const KernelRows* kFamilies[] = {
    &kAttentionRows, &kElementwiseRows, &kGroupedRows, &kIndexedRows,
    &kLineRows,      &kMoveRows,        &kPatternRows, &kProductRows,
    &kRotaryRows,    &kRowRows};

}  // namespace ruleengine::kernels::cuda
