#include "core/ir/order.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace ruleengine::ir {
namespace {

constexpr std::size_t kMostNamed = 8;

enum class State : std::uint8_t { kNew, kOpen, kDone };

// The position of the visit within a node: its operands, then the nodes of its
// bodies.
struct Frame {
  NodeId node;
  std::uint32_t operand = 0;
  std::uint32_t attribute = 0;
  std::uint32_t block = 0;
  std::uint32_t inner = 0;
};

class Walk {
 public:
  explicit Walk(const Graph& graph)
      : graph_(graph), state_(graph.node_count(), State::kNew) {
    order_.reserve(graph.live_node_count());
  }

  Result<std::vector<NodeId>> run() {
    for (NodeId node : graph_.block(Graph::main_block()).nodes) {
      if (wanted(node) && state_[node.index()] == State::kNew && !visit(node)) {
        return cycle();
      }
    }
    return std::move(order_);
  }

 private:
  bool wanted(NodeId node) const { return !graph_.node(node).removed; }

  // The next node that the frame's node waits for; invalid at the end.
  NodeId next(Frame& frame) const {
    const Node& node = graph_.node(frame.node);
    while (frame.operand < node.operand_count) {
      const NodeId producer =
          graph_.producer(graph_.input(frame.node, frame.operand++));
      if (producer && wanted(producer)) return producer;
    }
    for (; frame.attribute < node.attributes.size(); ++frame.attribute) {
      const auto blocks = node.attributes[frame.attribute].blocks;
      for (; frame.block < blocks.size(); ++frame.block) {
        const auto& nodes = graph_.block(blocks[frame.block]).nodes;
        while (frame.inner < nodes.size()) {
          const NodeId inner = nodes[frame.inner++];
          if (wanted(inner)) return inner;
        }
        const NodeId producer = output_producer(frame, blocks[frame.block]);
        if (producer) return producer;
        frame.inner = 0;
      }
      frame.block = 0;
    }
    return NodeId();
  }

  // The output of a body may be a value from outside the body.
  NodeId output_producer(Frame& frame, BlockId id) const {
    const Block& block = graph_.block(id);
    const std::size_t end = block.nodes.size() + block.outputs.size();
    while (frame.inner < end) {
      const ValueId output = block.outputs[frame.inner++ - block.nodes.size()];
      const NodeId producer = graph_.producer(output);
      if (producer && wanted(producer)) return producer;
    }
    return NodeId();
  }

  bool visit(NodeId start) {
    open(start);
    while (!stack_.empty()) {
      const NodeId node = next(stack_.back());
      if (!node) {
        const NodeId done = stack_.back().node;
        state_[done.index()] = State::kDone;
        order_.push_back(done);
        stack_.pop_back();
      } else if (state_[node.index()] == State::kNew) {
        open(node);
      } else if (state_[node.index()] == State::kOpen) {
        back_to_ = node;
        return false;
      }
    }
    return true;
  }

  void open(NodeId node) {
    state_[node.index()] = State::kOpen;
    stack_.push_back({node});
  }

  // From `back_to_` up the stack, each frame waits for the next one, and the
  // last waits for `back_to_`.
  Diagnostic cycle() const {
    auto at = std::ranges::find(stack_, back_to_, &Frame::node);
    const auto size = static_cast<std::size_t>(stack_.end() - at);
    std::string path;
    for (std::size_t i = 0; i < size && i < kMostNamed; ++i, ++at) {
      path += (i == 0 ? "" : " <- ") + graph_.describe(at->node);
    }
    return {.what = "the graph has a cycle",
            .expected = "an acyclic graph",
            .found = "a cycle of " + std::to_string(size) +
                     (size == 1 ? " node: " : " nodes: ") + path +
                     (size > kMostNamed ? " <- ..." : "")};
  }

  const Graph& graph_;
  std::vector<State> state_;
  std::vector<Frame> stack_;
  std::vector<NodeId> order_;
  NodeId back_to_;
};

}  // namespace

Result<std::vector<NodeId>> topological_order(const Graph& graph) {
  return Walk(graph).run();
}

Result<std::vector<NodeId>> number_nodes(Graph& graph) {
  auto order = topological_order(graph);
  if (!order) return order;
  std::uint64_t rank = 0;
  for (NodeId n : *order) graph.mutable_node(n).rank = rank++;
  graph.mark_renumbered();
  return order;
}

}  // namespace ruleengine::ir
