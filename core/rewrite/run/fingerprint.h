// Fingerprints: hashes of what a graph says, without the ids that new nodes
// happen to get, to see that a state has come again. Equal states have equal
// fingerprints within one run; nothing else may be read from them, their order
// least of all. Internal to core/rewrite; borrows the graph.
#ifndef RULEENGINE_CORE_REWRITE_RUN_FINGERPRINT_H_
#define RULEENGINE_CORE_REWRITE_RUN_FINGERPRINT_H_

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::rewrite {

using Fingerprint = std::uint64_t;

Fingerprint mixed(Fingerprint a, Fingerprint b);

// The op and the attributes of a node.
Fingerprint print_of_op(const ir::Graph& graph, ir::NodeId node);
// A value that no node makes: a small constant by what it holds, a large one
// by where its bytes lie, anything else by its id.
Fingerprint print_of_source(const ir::Graph& graph, ir::ValueId value);
// All nodes and what they read; linear.
Fingerprint print_of_graph(const ir::Graph& graph);

// Sees, in constant memory, that states go in a circle, however long. `counts`
// come with each state; those of the last time it stood are handed out.
class Circling {
 public:
  // True when `state` stood before.
  bool sees(Fingerprint state, const std::vector<std::uint64_t>& counts);
  // The counts when it did, or at some time in the last half of all steps.
  const std::vector<std::uint64_t>& then() const { return then_; }

 private:
  // Brent's: a state is kept for twice as many steps as the one before it.
  Fingerprint kept_ = 0;
  std::vector<std::uint64_t> then_;
  std::uint64_t steps_ = 0, keep_until_ = 1;
};

// How often something may happen while the graph does not shrink: what shrinks
// it comes to an end by itself.
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

#endif  // RULEENGINE_CORE_REWRITE_RUN_FINGERPRINT_H_
