#include "core/rewrite/rule.h"

#include <array>

namespace ruleengine::rewrite {
namespace {

constexpr std::array<std::string_view, 9> kPhases = {
    "expansion", "canonical", "conversion", "attention", "quantization",
    "linear",    "parallel",  "target",     "simplify"};

}  // namespace

std::string_view phase_name(Phase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}

std::span<const std::string_view> phase_names() { return kPhases; }

std::optional<Phase> phase_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    if (kPhases[i] == name) return static_cast<Phase>(i);
  }
  return std::nullopt;
}

}  // namespace ruleengine::rewrite
