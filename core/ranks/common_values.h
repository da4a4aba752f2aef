// On which ranks a value is the same: what a collective gives is the same on
// its group, and what is made of that; what it reads, and what comes of a
// share, is another on each rank. Inputs and constants are taken to be the same
// on all. Internal to residual_chains; groups are attributes of the Model.
#ifndef RULEENGINE_CORE_RANKS_COMMON_VALUES_H_
#define RULEENGINE_CORE_RANKS_COMMON_VALUES_H_

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::ranks {

class CommonValues {
 public:
  using Group = std::span<const std::int64_t>;

  // `order` has all nodes, in computation order.
  void find(const ir::Graph& graph, std::span<const ir::NodeId> order);
  // Whether the ranks of the group have the same value, for all that is known.
  bool on(ir::ValueId value, Group group) const;

 private:
  const Group* of_results(const ir::Graph& graph, ir::NodeId node);
  const Group* of_inputs(const ir::Graph& graph, ir::NodeId node) const;

  std::vector<const Group*> group_;  // by value; nullptr: all ranks
  std::deque<Group> groups_;
  Group nobody_;
};

}  // namespace ruleengine::ranks

#endif  // RULEENGINE_CORE_RANKS_COMMON_VALUES_H_
