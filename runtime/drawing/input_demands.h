// What the ops of a graph demand of symbolic sizes, as far as their inferred
// types tell. Internal to the drawing of inputs.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/model.h"

namespace ruleengine::runtime {

struct SizeDemand {
  enum class Kind : std::uint8_t {
    kZero,     // `what` is 0
    kDivided,  // `by` divides `what`
    kOneOf,    // `what` is `by`, or 1
  };
  Kind kind = Kind::kZero;
  ir::Dim what, by;
  auto operator<=>(const SizeDemand&) const = default;
};

// In the order of the nodes, each once. `model` is the one of `facts`.
std::vector<SizeDemand> size_demands(ir::Model& model, ir::Facts& facts);

}  // namespace ruleengine::runtime
