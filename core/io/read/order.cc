#include "core/io/read/order.h"

#include <algorithm>

namespace ruleengine::io {

using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

Orderer::Orderer(const ir::Graph& graph)
    : graph_(graph), state_(graph.node_count(), State::kNew) {
  if (graph.block_count() > 1) find_captures();
}

NodeId Orderer::ancestor(const ir::Graph& graph, BlockId inner, BlockId outer) {
  NodeId node;
  while (inner != outer) {
    node = graph.block(inner).owner;
    if (!node || graph.node(node).removed) return NodeId();
    inner = graph.node(node).block;
  }
  return node;
}

void Orderer::find_captures() {
  const auto add = [&](BlockId reader, ValueId value) {
    if (!value || graph_.value(value).block == reader) return;
    const NodeId node = ancestor(graph_, reader, graph_.value(value).block);
    if (node) captures_.emplace_back(node, value);
  };
  for (std::size_t b = 1; b < graph_.block_count(); ++b) {
    const ir::Block& block = graph_.block(BlockId(b));
    for (NodeId n : block.nodes) {
      if (graph_.node(n).removed) continue;
      for (const ir::Operand& use : graph_.inputs(n))
        add(BlockId(b), use.value);
    }
    for (ValueId v : block.outputs) add(BlockId(b), v);
  }
  std::sort(captures_.begin(), captures_.end());
  captures_.erase(std::unique(captures_.begin(), captures_.end()),
                  captures_.end());
}

// The node of the same block that dependency `frame.next` of a node waits for;
// invalid when there is none.
NodeId Orderer::dependency(const Frame& frame, bool& end) const {
  const ir::Node& node = graph_.node(frame.node);
  ValueId value;
  if (frame.next < node.operand_count) {
    value = graph_.input(frame.node, frame.next);
  } else if (!captures_.empty()) {
    auto it = std::lower_bound(captures_.begin(), captures_.end(),
                               std::pair(frame.node, ValueId(0u)));
    it += std::min<std::ptrdiff_t>(frame.next - node.operand_count,
                                   captures_.end() - it);
    end = it == captures_.end() || it->first != frame.node;
    if (!end) value = it->second;
  } else {
    end = true;
  }
  if (!value) return NodeId();
  const NodeId producer = graph_.value(value).producer;
  if (!producer || graph_.node(producer).removed ||
      graph_.node(producer).block != node.block) {
    return NodeId();
  }
  return producer;
}

bool Orderer::visit(NodeId start, Order& order) {
  stack_.push_back({start});
  state_[start.index()] = State::kOpen;
  while (!stack_.empty()) {
    bool end = false;
    const NodeId next = dependency(stack_.back(), end);
    if (end) {
      const NodeId done = stack_.back().node;
      state_[done.index()] = State::kDone;
      order.nodes.push_back(done);
      stack_.pop_back();
      continue;
    }
    ++stack_.back().next;
    if (!next || state_[next.index()] == State::kDone) continue;
    if (state_[next.index()] == State::kNew) {
      state_[next.index()] = State::kOpen;
      stack_.push_back({next});
      continue;
    }
    // From `next` up the stack, each frame waits for the next one.
    auto from = std::find_if(stack_.begin(), stack_.end(),
                             [&](const Frame& f) { return f.node == next; });
    for (; from != stack_.end(); ++from) order.cycle.push_back(from->node);
    std::reverse(order.cycle.begin(), order.cycle.end());
    stack_.clear();
    return false;
  }
  return true;
}

Orderer::Order Orderer::run(BlockId block) {
  Order order;
  const ir::Block& b = graph_.block(block);
  order.nodes.reserve(b.nodes.size());
  for (NodeId n : b.nodes) {
    if (graph_.node(n).removed || state_[n.index()] != State::kNew) continue;
    if (!visit(n, order)) return order;
  }
  return order;
}

}  // namespace ruleengine::io
