// Calls of model-local functions: whether one fits its function, and whether
// those of a model come to an end. Thread-safe while nobody writes to the
// graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/model.h"

namespace ruleengine::ir {

// The functions of a model by OpId; of two with one op the first.
using FunctionsByOp = std::unordered_map<std::uint32_t, const Function*>;
FunctionsByOp functions_by_op(const Model& model);

// Absent inputs and outputs at the end may be left out. Absent ones beyond the
// function's own are allowed too; others are not.
bool takes(const Function& function, const Graph& graph, NodeId call);

// The limit on the nodes of the model after all calls are expanded: sixty
// functions that each call the next one twice would give 2^60 nodes.
inline constexpr std::uint64_t kMaxExpandedNodes = 1'000'000'000;

struct CallFault {
  // A call that does not fit `function`.
  const Graph* graph = nullptr;
  NodeId call;
  // Functions that each call the next one, and the last one the first.
  std::vector<const Function*> cycle;
  // Else: the one that expands to too many nodes; nullptr: the main graph.
  const Function* function = nullptr;
};
// The first fault of a model's calls. A call counts as the nodes of its
// function, and `own` for itself. Linear.
std::optional<CallFault> call_fault(const Model& model, std::uint64_t own);

}  // namespace ruleengine::ir
