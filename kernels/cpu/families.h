// The list of all families of kernels, a file each in kernels/cpu. A family is
// an op or a few that share their loop. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_FAMILIES_H_
#define RULEENGINE_KERNELS_CPU_FAMILIES_H_

#include <span>

#include "runtime/kernel.h"

namespace ruleengine::kernels {

using KernelRows = std::span<const runtime::Kernel>;
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

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_FAMILIES_H_
