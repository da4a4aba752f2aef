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
  void start(std::vector<ir::NodeId> order);
  void push(ir::NodeId node);
  ir::NodeId
  pop();  // a node that was not removed; invalid if the list is empty
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
