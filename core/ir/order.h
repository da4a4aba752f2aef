// The order of nodes, computed when it is needed. A node comes after the
// producers of what it reads and of what the bodies of its If, Loop or Scan
// read from outside; the nodes of its bodies come just before it. Stable:
// nodes keep the order of their block wherever that is already good. Linear
// time; the graph must not change meanwhile.
#ifndef RULEENGINE_CORE_IR_ORDER_H_
#define RULEENGINE_CORE_IR_ORDER_H_

#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace ruleengine::ir {

// The live nodes of all blocks that belong to live nodes. The error names the
// nodes of a cycle.
Result<std::vector<NodeId>> topological_order(const Graph& graph);
// The same, and each node's rank is its place in it.
Result<std::vector<NodeId>> number_nodes(Graph& graph);

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_ORDER_H_
