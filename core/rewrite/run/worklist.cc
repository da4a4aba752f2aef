#include "core/rewrite/run/worklist.h"

namespace ruleengine::rewrite {

void Worklist::start(std::vector<ir::NodeId> order) {
  order_ = std::move(order);
  at_ = 0;
  heap_ = {};
  waiting_.assign(graph_.node_count(), false);
  for (ir::NodeId n : order_) waiting_[n.index()] = true;
}

void Worklist::push(ir::NodeId node) {
  if (waiting_.size() < graph_.node_count()) {
    waiting_.resize(graph_.node_count());
  }
  if (waiting_[node.index()]) return;
  waiting_[node.index()] = true;
  heap_.emplace(graph_.node(node).rank, node.index());
}

ir::NodeId Worklist::pop() {
  while (at_ < order_.size() || !heap_.empty()) {
    ir::NodeId node;
    if (at_ < order_.size()) {
      node = order_[at_];
      const Key key(graph_.node(node).rank, node.index());
      if (!heap_.empty() && heap_.top() < key) node = ir::NodeId();
    }
    if (node) {
      ++at_;
    } else {
      node = ir::NodeId(heap_.top().second);
      heap_.pop();
    }
    waiting_[node.index()] = false;
    if (!graph_.node(node).removed) return node;
  }
  return {};
}

}  // namespace ruleengine::rewrite
