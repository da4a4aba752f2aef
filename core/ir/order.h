// The order of nodes, computed on demand. A node comes after the producers of
// its inputs and of what the bodies of its If, Loop or Scan read from outside;
// the nodes of its bodies come just before it. Stable: nodes keep the order of
// their block where dependencies allow it. Linear time; the graph must not
// change meanwhile.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace ruleengine::ir {

// Orders the live nodes of all blocks whose owners are live. The error names
// the nodes of a cycle.
Result<std::vector<NodeId>> topological_order(const Graph& graph);
// The same, and sets the rank of each node to its position.
Result<std::vector<NodeId>> number_nodes(Graph& graph);

}  // namespace ruleengine::ir
