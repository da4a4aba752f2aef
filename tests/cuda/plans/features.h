// Attentions that differ in what they have, for a head size and a type of
// elements.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

struct Feature {
  std::string_view name;
  void (*add)(AttentionDescription& d);
};

std::span<const Feature> features();

// With dense strides, where the feature has set none.
AttentionDescription attention_with(const Feature& feature, DataType element,
                                    std::int64_t size);

}  // namespace ruleengine::kernels::cuda
