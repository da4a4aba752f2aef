// Topological order of the nodes of one block. A control-flow node also depends
// on what its bodies read from outside. Stable: nodes keep the order of their
// block where dependencies allow it. Views one Graph that must not change
// meanwhile; linear time; no recursion.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::io {

class Orderer {
 public:
  explicit Orderer(const ir::Graph& graph);

  struct Order {
    std::vector<ir::NodeId> nodes;  // live, each after its dependencies
    // Empty, unless there is a cycle: then its nodes, each of which reads the
    // one before it, and the first one reads the last one.
    std::vector<ir::NodeId> cycle;
  };
  Order run(ir::BlockId block);

  // The node of block `outer` whose bodies contain `inner`; invalid when there
  // is none, or when a node in between was removed.
  static ir::NodeId ancestor(const ir::Graph& graph, ir::BlockId inner,
                             ir::BlockId outer);

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Frame {
    ir::NodeId node;
    std::uint32_t next = 0;  // dependency to look at
  };

  void find_captures();
  ir::NodeId dependency(const Frame& frame, bool& end) const;
  bool visit(ir::NodeId start, Order& order);

  const ir::Graph& graph_;
  // (node, value that a body of it reads from the node's own block), sorted.
  std::vector<std::pair<ir::NodeId, ir::ValueId>> captures_;
  std::vector<State> state_;
  std::vector<Frame> stack_;
};

}  // namespace ruleengine::io
