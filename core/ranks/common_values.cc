#include "core/ranks/common_values.h"

#include <algorithm>

#include "core/ir/model.h"
#include "core/ranks/communication.h"

namespace ruleengine::ranks {

using ir::NodeId;
using ir::ValueId;

void CommonValues::find(const ir::Graph& graph, std::span<const NodeId> order) {
  group_.assign(graph.value_count(), nullptr);
  for (NodeId node : order) {
    if (!is_collective(graph.op(node))) continue;
    if (const ValueId v = graph.input(node, 0)) group_[v.index()] = &nobody_;
  }
  for (NodeId node : order) {
    const Group* group = of_results(graph, node);
    if (group == nullptr) continue;
    for (ValueId v : graph.outputs(node)) {
      if (v && group_[v.index()] == nullptr) group_[v.index()] = group;
    }
  }
}

bool CommonValues::on(ValueId value, Group group) const {
  const Group* of = group_[value.index()];
  return of == nullptr || std::ranges::equal(*of, group);
}

const CommonValues::Group* CommonValues::of_results(const ir::Graph& graph,
                                                    NodeId node) {
  const ir::Op& op = graph.op(node);
  if (!is_collective(op)) return of_inputs(graph, node);
  if (op.type == "reduce_scatter") return &nobody_;
  return &groups_.emplace_back(rank_group(graph, node));
}

const CommonValues::Group* CommonValues::of_inputs(const ir::Graph& graph,
                                                   NodeId node) const {
  for (const ir::Attribute& a : graph.node(node).attributes) {
    if (!a.blocks.empty()) return &nobody_;  // its bodies may read anything
  }
  const Group* all = nullptr;
  for (const ir::Operand& o : graph.inputs(node)) {
    const Group* each = o.value ? group_[o.value.index()] : nullptr;
    if (each == nullptr || each == all) continue;
    if (all != nullptr && !std::ranges::equal(*each, *all)) return &nobody_;
    all = each;
  }
  return all;
}

}  // namespace ruleengine::ranks
