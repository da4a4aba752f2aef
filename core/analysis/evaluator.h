// Evaluator: computes a node whose inputs are constants. The analysis has a
// small one for shape arithmetic and computed scales; an executor may implement
// the interface for everything. Results are stored in the arena of the graph's
// Model. One thread at a time per Model.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ir/literal.h"

namespace ruleengine::analysis {

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Looks only at the op and its attributes, so it is cheap; evaluate may still
  // fail.
  virtual bool can_evaluate(const ir::Graph& graph, ir::NodeId node) const = 0;

  // One tensor for each output (nullptr: not computed), or an error: a result
  // over the size limit, an index out of range, an unsupported type. `inputs`
  // has one entry for each slot, nullptr for an empty one.
  virtual Result<std::vector<const ir::Literal*>> evaluate(
      ir::Graph& graph, ir::NodeId node,
      std::span<const ir::Literal* const> inputs) = 0;
};

}  // namespace ruleengine::analysis
