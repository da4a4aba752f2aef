// Worklist: the roots that are still to be matched, by ascending rank, without
// duplicates. A sweep starts with all nodes; edits push nodes again. Linear in
// the nodes of the sweep, and n log n in the pushed ones. Internal to
// core/rewrite.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::rewrite {

class Worklist {
 public:
  explicit Worklist(const ir::Graph& graph) : graph_(graph) {}

  // `order` is sorted by rank.
  void start(std::vector<ir::NodeId> order) {
    order_ = std::move(order);
    at_ = 0;
    heap_ = {};
    waiting_.assign(graph_.node_count(), false);
    for (ir::NodeId n : order_) waiting_[n.index()] = true;
  }

  void push(ir::NodeId node) {
    if (waiting_.size() < graph_.node_count()) {
      waiting_.resize(graph_.node_count());
    }
    if (waiting_[node.index()]) return;
    waiting_[node.index()] = true;
    heap_.emplace(graph_.node(node).rank, node.index());
  }

  // A node that was not removed; invalid if the list is empty.
  ir::NodeId pop() {
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

  std::size_t left() const { return order_.size() - at_ + heap_.size(); }

 private:
  using Key = std::pair<std::uint64_t, std::uint32_t>;

  const ir::Graph& graph_;
  std::vector<ir::NodeId> order_;
  std::size_t at_ = 0;
  std::vector<bool> waiting_;  // by node: whether it is in the list
  std::priority_queue<Key, std::vector<Key>, std::greater<>> heap_;
};

}  // namespace ruleengine::rewrite
