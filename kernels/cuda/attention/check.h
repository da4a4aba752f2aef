// What cuDNN does not tell: its own check takes attentions that it cannot
// compute, or computes wrongly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/cuda/attention/blocked.h"
#include "kernels/cuda/attention/chip.h"
#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

// Why no plan is to be built for this attention, which is canonical; nullopt
// where cuDNN may be asked. `version`: as cudnn_version() tells it.
std::optional<std::string> check(
    const AttentionDescription& d, const Chip& chip, std::int64_t version,
    const BlockedVersions& blocked = BlockedVersions::built_in());

}  // namespace ruleengine::kernels::cuda
