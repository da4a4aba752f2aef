// The list of all families of kernels, a file each in a folder of kernels/cpu,
// and the kernels that stand in another file than their family's rows. A family
// is an op or a few that share their loop. Internal to kernels/cpu.
#pragma once

#include <span>

#include "kernels/cpu/kernel.h"
#include "kernels/keeping.h"

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
Op flex_attention(const Preparation& p);
Op linear_attention(const Preparation& p);
// contrib
Op group_query_attention(const Preparation& p);
// control
Op scan(const Preparation& p);
Op scan_8(const Preparation& p);
// norm
Op batch_normalization(const Preparation& p);
Op instance_normalization(const Preparation& p);
Op group_normalization(const Preparation& p);
// pooling
Op max_roi_pool(const Preparation& p);
Op max_unpool(const Preparation& p);
// product
Op einsum(const Preparation& p);
// reduction
Op arg_max(const Preparation& p);
Op arg_min(const Preparation& p);
Op cum_prod(const Preparation& p);
Op cum_sum(const Preparation& p);
// selection
void non_max_suppression(Call& c, bool is_center);
Op unique(const Preparation& p);
// string
Op tf_idf_vectorizer(const Preparation& p);

}  // namespace ruleengine::kernels
