// Which nodes one op can replace. Internal to bindings/lua/draft.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace ruleengine::lua {

struct Selection {
  std::vector<ir::NodeId> nodes;     // in computation order, without Constants
  std::vector<ir::ValueId> results;  // what other nodes read of them
  std::set<ir::NodeId> members;      // the same nodes, to look up

  bool has(ir::NodeId node) const { return members.contains(node); }
};

// kUsage if a node is not of the main graph, if the nodes are in several
// pieces, if other nodes lie between them, and if nothing reads what they
// compute.
Result<Selection> select_nodes(const ir::Graph& graph,
                               std::span<const ir::NodeId> nodes);

}  // namespace ruleengine::lua
