// Answers about ranks: how a value lies on them.
#include <vector>

#include "core/analysis/solver/solver.h"
#include "core/ir/model.h"
#include "core/ir/shapes.h"
#include "core/ops/axis_flow.h"
#include "core/ranks/communication.h"

namespace ruleengine::analysis {

using ir::Layout;
using ir::NodeId;
using ir::Placement;
using ir::ValueId;

namespace {

std::optional<Layout> of_collective(const ir::Graph& graph, NodeId node,
                                    const ir::Type* result) {
  const auto group = ranks::rank_group(graph, node);
  if (group.size() < 2) return std::nullopt;
  if (graph.op(node).type != "reduce_scatter") {
    return Layout{.placement = Placement::kReplicated, .group = group};
  }
  const ir::Attribute* dim = graph.attribute(node, "dim");
  if (dim == nullptr || result == nullptr || !result->has_shape) {
    return std::nullopt;
  }
  const auto axis = ir::place_of_axis(dim->i, result->rank());
  if (!axis) return std::nullopt;
  return Layout{.placement = Placement::kSharded,
                .axis = static_cast<int>(*axis),
                .group = group};
}

// How an operand is to lie for a node whose result lies as `result` does;
// `axis` is where the operand has the axis that is shared out.
Layout wanted(const Layout& result, int axis) {
  Layout out = result;
  out.placement =
      axis == ranks::AxisFlow::kSame ? Placement::kReplicated : Placement::kSharded;
  out.axis = axis == ranks::AxisFlow::kSame ? 0 : axis;
  return out;
}

}  // namespace

void Solver::prepare_layout(NodeId node) {
  if (ranks::is_collective(graph_.op(node))) {
    need(graph_.output(node), Ask::kType);
    return;
  }
  if (!ranks::has_axis_flow(graph_.op(node))) return;
  for (const ir::Operand& o : graph_.inputs(node)) {
    need(o.value, Ask::kLayout);
    need(o.value, Ask::kType);
    need(o.value, Ask::kOrigin);
  }
  for (ValueId v : graph_.outputs(node)) need(v, Ask::kType);
}

// What works token by token keeps how its operands lie, when they lie alike.
std::optional<Layout> Solver::layout_of(ValueId value) const {
  const NodeId node = graph_.producer(value);
  if (!node) return std::nullopt;
  const ir::Op& op = graph_.op(node);
  if (ranks::is_collective(op)) {
    if (!ranks::unknown_attribute(graph_, node).empty()) return std::nullopt;
    return of_collective(graph_, node, known(graph_.output(node)).type);
  }
  if (!ranks::has_axis_flow(op)) return std::nullopt;
  const auto inputs = graph_.inputs(node);
  const Layout* first = nullptr;
  std::size_t place = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Layout* layout = known(inputs[i].value).layout;
    if (layout == nullptr) continue;
    if (first == nullptr || (first->placement == Placement::kReplicated &&
                             layout->placement == Placement::kSharded)) {
      first = layout;
      place = i;
    }
  }
  if (first == nullptr) return std::nullopt;
  if (first->placement == Placement::kReplicated) {
    return all_lie(node, *first, nullptr) ? std::optional(*first)
                                          : std::nullopt;
  }
  std::vector<const ir::Type*> in, out;
  for (const ir::Operand& o : inputs) in.push_back(known(o.value).type);
  for (ValueId v : graph_.outputs(node)) out.push_back(known(v).type);
  const auto flow =
      ranks::axis_flow(graph_, node, {in, out}, {false, place}, first->axis);
  if (!flow || !all_lie(node, *first, &*flow)) return std::nullopt;
  const int axis = flow->outputs[graph_.value(value).output_index];
  return axis == ranks::AxisFlow::kSame ? std::nullopt
                                 : std::optional(wanted(*first, axis));
}

// Whether the node's operands lie so that its results lie as `result` does;
// `flow` is that of the axis which is shared out. A constant may be one rank's
// own: its result is no longer the same on all ranks, but a share stays a
// share, that of what the ranks have made with theirs.
bool Solver::all_lie(NodeId node, const Layout& result,
                     const ranks::AxisFlow* flow) const {
  const auto inputs = graph_.inputs(node);
  const std::size_t operands =
      ranks::has_settings(graph_.op(node)) ? 1 : inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].value) continue;
    const Memo& memo = known(inputs[i].value);
    if (i >= operands && memo.origin != Origin::kRuntime) continue;
    const int axis = flow != nullptr ? flow->inputs[i] : ranks::AxisFlow::kSame;
    if (flow != nullptr && axis == ranks::AxisFlow::kSame &&
        (memo.origin == Origin::kConstant || memo.origin == Origin::kBeyond)) {
      continue;
    }
    if (memo.layout == nullptr || *memo.layout != wanted(result, axis)) {
      return false;
    }
  }
  return true;
}

bool Solver::compute_layout(ValueId value) {
  const auto found = layout_of(value);
  Memo& memo = memos_[value.index()];
  const bool same = memo.layout == nullptr
                        ? !found
                        : found.has_value() && *memo.layout == *found;
  if (same) return false;
  memo.layout = found ? model().arena.make<Layout>(*found) : nullptr;
  return true;
}

}  // namespace ruleengine::analysis
