// Descriptions of GPUs that need not be here.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cuda/attention/chip.h"

namespace ruleengine::kernels::cuda {

struct NamedChip {
  std::string_view name;
  Chip chip;
};

std::span<const NamedChip> known_chips();
const Chip& chip_named(std::string_view name);

}  // namespace ruleengine::kernels::cuda
