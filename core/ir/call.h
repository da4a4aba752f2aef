// Whether the inputs and outputs of a call fit its model-local function.
// Thread-safe while nobody writes to the graph.
#pragma once

#include <algorithm>

#include "core/ir/graph.h"
#include "core/ir/model.h"

namespace ruleengine::ir {

// Absent inputs and outputs at the end may be left out. Absent ones beyond the
// function's own are allowed too; others are not.
inline bool takes(const Function& function, const Graph& graph, NodeId call) {
  const auto inputs = graph.inputs(call);
  const auto outputs = graph.outputs(call);
  const std::size_t in = std::min(inputs.size(), function.inputs.size());
  const std::size_t out = std::min(outputs.size(), function.outputs.size());
  return std::ranges::none_of(
             inputs.subspan(in),
             [](const Operand& o) { return static_cast<bool>(o.value); }) &&
         std::ranges::none_of(outputs.subspan(out),
                              [](ValueId v) { return static_cast<bool>(v); });
}

}  // namespace ruleengine::ir
