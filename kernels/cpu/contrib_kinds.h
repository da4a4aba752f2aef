// Kernels of ONNX Runtime's domain in files of their own. Internal to
// kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_CONTRIB_KINDS_H_
#define RULEENGINE_KERNELS_CPU_CONTRIB_KINDS_H_

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

void contrib_attention(KernelContext& c);
void multi_head_attention(KernelContext& c);
void group_query_attention(KernelContext& c);

void skip_layer_norm(KernelContext& c);
void skip_rms_norm(KernelContext& c);
void simplified_layer_norm(KernelContext& c);

void fused_matmul(KernelContext& c);
void matmul_nbits(KernelContext& c);
void inverse(KernelContext& c);

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_CONTRIB_KINDS_H_
