// Answers about ranks: how a value lies on them.
#include <algorithm>
#include <vector>

#include "core/analysis/axis_flow.h"
#include "core/analysis/communication.h"
#include "core/analysis/solver.h"
#include "core/ir/model.h"

namespace ruleengine::analysis {

using ir::Layout;
using ir::NodeId;
using ir::Placement;
using ir::ValueId;

namespace {

Layout of_collective(const ir::Graph& graph, NodeId node,
                     const ir::Type* result) {
  Layout out{.placement = Placement::kReplicated,
             .group = rank_group(graph, node)};
  if (out.group.size() < 2) return {};
  if (graph.op(node).type != "reduce_scatter") return out;
  const ir::Attribute* dim = graph.attribute(node, "dim");
  if (dim == nullptr || result == nullptr || !result->has_shape) return {};
  const auto rank = static_cast<std::int64_t>(result->rank());
  const std::int64_t axis = dim->i < 0 ? dim->i + rank : dim->i;
  if (axis < 0 || axis >= rank) return {};
  out.placement = Placement::kSharded;
  out.axis = static_cast<int>(axis);
  return out;
}

// Whether every rank's sum over the group has this among its terms.
bool is_summed(const ir::Graph& graph, ValueId value, Layout& out) {
  for (auto u = graph.first_use(value); u; u = graph.next_use(u)) {
    const NodeId user = graph.operand(u).user;
    const ir::Op& op = graph.op(user);
    if (!is_collective(op) || op.type == "all_gather") continue;
    out = {.placement = Placement::kPartial, .group = rank_group(graph, user)};
    return out.group.size() > 1;
  }
  return false;
}

}  // namespace

void Solver::prepare_layout(NodeId node) {
  if (is_collective(graph_.op(node))) {
    need(graph_.output(node), Ask::kType);
    return;
  }
  if (!has_axis_flow(graph_.op(node))) return;
  for (const ir::Operand& o : graph_.inputs(node)) {
    need(o.value, Ask::kLayout);
    need(o.value, Ask::kType);
    need(o.value, Ask::kOrigin);
  }
  for (ValueId v : graph_.outputs(node)) need(v, Ask::kType);
}

// What works token by token keeps how its operands lie, when they lie alike.
Layout Solver::layout_of(ValueId value) const {
  const NodeId node = graph_.producer(value);
  if (!node) return {};
  const ir::Op& op = graph_.op(node);
  if (is_collective(op)) {
    return of_collective(graph_, node, known(graph_.output(node)).type);
  }
  if (!has_axis_flow(op)) return {};
  const Layout* first = nullptr;
  std::size_t place = 0;
  const auto inputs = graph_.inputs(node);
  std::vector<const ir::Type*> in, out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(known(inputs[i].value).type);
    const Layout* layout = known(inputs[i].value).layout;
    if (layout == nullptr) continue;
    if (first == nullptr || layout->placement == Placement::kSharded) {
      first = layout;
      place = i;
    }
  }
  if (first == nullptr) return {};
  for (ValueId v : graph_.outputs(node)) out.push_back(known(v).type);
  AxisFlow flow;
  if (first->placement == Placement::kSharded) {
    const auto found =
        axis_flow(graph_, node, {in, out}, {false, place}, first->axis);
    if (!found) return {};
    flow = *found;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Memo& memo = known(inputs[i].value);
    if (!inputs[i].value || memo.origin == Origin::kConstant) continue;
    if (memo.layout == nullptr) return {};
    Layout wanted = *first;
    if (first->placement == Placement::kSharded) wanted.axis = flow.inputs[i];
    if (*memo.layout != wanted) return {};
  }
  Layout result = *first;
  if (result.placement == Placement::kSharded) {
    result.axis = flow.outputs[graph_.value(value).output_index];
    if (result.axis == AxisFlow::kSame) return {};
  }
  return result;
}

bool Solver::compute_layout(ValueId value) {
  Layout found = layout_of(value);
  if (found.placement == Placement::kUnknown) {
    is_summed(graph_, value, found);
  }
  Memo& memo = memos_[value.index()];
  const Layout before = memo.layout != nullptr ? *memo.layout : Layout();
  if (found == before) return false;
  memo.layout = found.placement == Placement::kUnknown
                    ? nullptr
                    : model().arena.make<Layout>(found);
  return true;
}

}  // namespace ruleengine::analysis
