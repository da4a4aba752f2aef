// Fingerprints: hashes of a graph's contents, independent of the ids of new
// nodes, to detect that a state occurs again. Equal states have equal
// fingerprints within one run; nothing else may be derived from them, in
// particular no order. Internal to core/rewrite; borrows the graph.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::rewrite {

using Fingerprint = std::uint64_t;

Fingerprint mixed(Fingerprint a, Fingerprint b);

// The op and the attributes of a node.
Fingerprint print_of_op(const ir::Graph& graph, ir::NodeId node);
// A value that no node produces: a small constant by its contents, a large one
// by the place of its bytes, others by their id.
Fingerprint print_of_source(const ir::Graph& graph, ir::ValueId value);
// All nodes and their inputs; linear in the graph. With `contents`, constants
// that folding makes at once count by their contents too.
Fingerprint print_of_graph(const ir::Graph& graph, bool contents = false);

// Detects, in constant memory, that a sequence of states repeats, whatever the
// period. Stores the `counts` of some of the states.
class LoopDetector {
 public:
  // True if `state` was the stored one.
  bool sees(Fingerprint state, const std::vector<std::uint64_t>& counts);
  // The counts that belong to the stored state; it lies at most half of all
  // steps back.
  const std::vector<std::uint64_t>& then() const { return then_; }

 private:
  // Brent's algorithm: each state is stored for twice as many steps as the one
  // before.
  Fingerprint kept_ = 0;
  std::vector<std::uint64_t> then_;
  std::uint64_t steps_ = 0, keep_until_ = 1;
};

// Limits how often something may happen without the graph shrinking. Steps that
// shrink it end by themselves.
class Patience {
 public:
  bool is_over(std::size_t live_nodes, std::uint64_t most) {
    if (count_ == 0 || live_nodes < least_) {
      least_ = live_nodes;
      count_ = 0;
    }
    return ++count_ > most;
  }

 private:
  std::size_t least_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace ruleengine::rewrite
