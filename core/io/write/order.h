// Topological order of the nodes of one block, counting what the bodies of
// control-flow nodes read from outside as read by those nodes. Stable: nodes
// keep their order in the block wherever it is already good. Views one Graph
// that must not change meanwhile; linear time; no recursion.
#ifndef RULEENGINE_CORE_IO_WRITE_ORDER_H_
#define RULEENGINE_CORE_IO_WRITE_ORDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::io {

class Orderer {
 public:
  explicit Orderer(const ir::Graph& graph);

  struct Order {
    std::vector<ir::NodeId> nodes;  // live ones, each after what it reads
    // Not empty when there is no order: nodes that each read the one before,
    // the first the last.
    std::vector<ir::NodeId> cycle;
  };
  Order run(ir::BlockId block);

  // The node of block `outer` in whose bodies `inner` lies; invalid when there
  // is none, or one on the way was removed.
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

#endif  // RULEENGINE_CORE_IO_WRITE_ORDER_H_
