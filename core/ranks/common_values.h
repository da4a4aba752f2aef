// On which ranks a value is the same: the result of a collective is the same in
// its group, and so is what is computed from it. The input of a collective, and
// what is computed from a share, differs on each rank. Inputs and constants are
// assumed to be the same on all. Used only by residual_chains; groups are
// attributes of the Model.
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
  // Whether the value is the same on all ranks of the group, as far as is
  // known.
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
