// Attention by a kernel of ours. Internal to kernels/cuda.
#pragma once

#include "kernels/cuda/attending.h"
#include "kernels/cuda/device/attention.h"

namespace ruleengine::kernels::cuda {

// What the kernel is told; `to`: what it writes. Fails where numbers are too
// large for it.
device::AttentionArgs attention_args(const GpuAttending& a, std::byte* to);

// Adds it to the work.
void run_flash(Call& c, Session& session, DataType type,
               device::AttentionArgs args);
// Zeros for queries that see no key, of which cuDNN does not say what it
// writes. `type`: float16 or bfloat16.
void clear_hidden(Session& session, DataType type,
                  const device::AttentionArgs& args);

}  // namespace ruleengine::kernels::cuda
