// The list of all families of kernels, a file each in kernels/cpu, and the
// kernels that stand in another file than their family's rows. A family is an
// op or a few that share their loop. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_FAMILIES_H_
#define RULEENGINE_KERNELS_CPU_FAMILIES_H_

#include <span>

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

using KernelRows = std::span<const Kernel>;
using KernelFamily = KernelRows (*)();

KernelRows arithmetic_kernels();
KernelRows attention_kernels();
KernelRows cast_kernels();
KernelRows collective_kernels();
KernelRows comparison_kernels();
KernelRows contrib_kernels();
KernelRows control_kernels();
KernelRows convolution_kernels();
KernelRows gather_kernels();
KernelRows generator_kernels();
KernelRows image_kernels();
KernelRows layout_kernels();
KernelRows loss_kernels();
KernelRows ml_kernels();
KernelRows norm_kernels();
KernelRows pad_kernels();
KernelRows pooling_kernels();
KernelRows product_kernels();
KernelRows quantization_kernels();
KernelRows random_kernels();
KernelRows recurrent_kernels();
KernelRows reduction_kernels();
KernelRows rotary_kernels();
KernelRows scatter_kernels();
KernelRows selection_kernels();
KernelRows sequence_kernels();
KernelRows signal_kernels();
KernelRows softmax_kernels();
KernelRows string_kernels();
KernelRows training_kernels();
KernelRows unary_kernels();
KernelRows view_kernels();

inline constexpr KernelFamily kFamilies[] = {
    arithmetic_kernels,   attention_kernels,   cast_kernels,
    collective_kernels,   comparison_kernels,  contrib_kernels,
    control_kernels,      convolution_kernels, gather_kernels,
    generator_kernels,    image_kernels,       layout_kernels,
    loss_kernels,         ml_kernels,          norm_kernels,
    pad_kernels,          pooling_kernels,     product_kernels,
    quantization_kernels, random_kernels,      recurrent_kernels,
    reduction_kernels,    rotary_kernels,      scatter_kernels,
    selection_kernels,    sequence_kernels,    signal_kernels,
    softmax_kernels,      string_kernels,      training_kernels,
    unary_kernels,        view_kernels};

// attention: scores and weights pass through subgraphs; a state per head
// instead of softmax.
void flex_attention(KernelContext& c);
void linear_attention(KernelContext& c);
// contrib
void contrib_attention(KernelContext& c);
void multi_head_attention(KernelContext& c);
void group_query_attention(KernelContext& c);
void skip_layer_norm(KernelContext& c);
void skip_rms_norm(KernelContext& c);
void simplified_layer_norm(KernelContext& c);
void fused_matmul(KernelContext& c);
void matmul_nbits(KernelContext& c);
void inverse(KernelContext& c);
// control
void scan(KernelContext& c);
// norm
void batch_normalization(KernelContext& c);
void instance_normalization(KernelContext& c);
void group_normalization(KernelContext& c);
// pooling
void max_roi_pool(KernelContext& c);
void max_unpool(KernelContext& c);
// product
void einsum(KernelContext& c);
// reduction
void arg_max(KernelContext& c);
void arg_min(KernelContext& c);
void cum_prod(KernelContext& c);
void cum_sum(KernelContext& c);
// selection
void non_max_suppression(KernelContext& c);
void unique(KernelContext& c);
// string
void tf_idf_vectorizer(KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_FAMILIES_H_
