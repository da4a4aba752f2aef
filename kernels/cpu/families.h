// The list of all families of kernels, a file each in a folder of kernels/cpu,
// and the kernels that stand in another file than their family's rows. A family
// is an op or a few that share their loop. Internal to kernels/cpu.
#pragma once

#include <span>

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

using KernelRows = std::span<const Kernel>;
extern const KernelRows kArithmeticRows, kAttentionRows, kCastRows,
    kCollectiveRows, kComparisonRows, kContribRows, kControlRows,
    kConvolutionRows, kGatherRows, kGeneratorRows, kImageRows, kLayoutRows,
    kMlRows, kNormRows, kOwnAttentionRows, kOwnProjectionRows, kPadRows,
    kPoolingRows, kProductRows, kQuantizationRows, kRandomRows, kRecurrentRows,
    kReductionRows, kRotaryRows, kScatterRows, kSelectionRows, kSequenceRows,
    kSignalRows, kSoftmaxRows, kStringRows, kTrainingRows, kUnaryRows,
    kViewRows;

inline constexpr const KernelRows* kFamilies[] = {
    &kArithmeticRows, &kAttentionRows, &kCastRows,         &kCollectiveRows,
    &kComparisonRows, &kContribRows,   &kControlRows,      &kConvolutionRows,
    &kGatherRows,     &kGeneratorRows, &kImageRows,        &kLayoutRows,
    &kMlRows,         &kNormRows,      &kOwnAttentionRows, &kOwnProjectionRows,
    &kPadRows,        &kPoolingRows,   &kProductRows,      &kQuantizationRows,
    &kRandomRows,     &kRecurrentRows, &kReductionRows,    &kRotaryRows,
    &kScatterRows,    &kSelectionRows, &kSequenceRows,     &kSignalRows,
    &kSoftmaxRows,    &kStringRows,    &kTrainingRows,     &kUnaryRows,
    &kViewRows};

// attention: scores and weights pass through subgraphs; a state per head
// instead of softmax.
void flex_attention(KernelContext& c);
void linear_attention(KernelContext& c);
// contrib
void group_query_attention(KernelContext& c);
// control
Op scan(const Preparation& p);
Op scan_8(const Preparation& p);
// layout
void slice(KernelContext& c);
// norm
void batch_normalization(KernelContext& c);
void instance_normalization(KernelContext& c);
void group_normalization(KernelContext& c);
// pooling
Op max_roi_pool(const Preparation& p);
Op max_unpool(const Preparation& p);
// product
void einsum(KernelContext& c);
// reduction
void arg_max(KernelContext& c);
void arg_min(KernelContext& c);
void cum_prod(KernelContext& c);
void cum_sum(KernelContext& c);
// selection
Op non_max_suppression(const Preparation& p);
void unique(KernelContext& c);
// string
Op tf_idf_vectorizer(const Preparation& p);

}  // namespace ruleengine::kernels
