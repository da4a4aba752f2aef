#include "core/ranks/layout.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/ir/model.h"
#include "core/ir/shapes.h"
#include "core/ops/axis_flow.h"
#include "core/ops/op_row.h"
#include "core/ranks/communication.h"

namespace ruleengine::ranks {
namespace {

using ir::NodeId;
using ir::Type;

// Whether it is known what the collective does, among whom.
bool is_understood(const ir::Graph& graph, NodeId node) {
  return rank_group(graph, node).size() >= 2 &&
         unknown_attribute(graph, node).empty();
}

// A share of this type along the axis that the collective names.
std::optional<Layout> share(const ir::Graph& graph, NodeId collective,
                            const Type* type) {
  const ir::Attribute* dim = graph.attribute(collective, "dim");
  if (dim == nullptr || !ir::is_ranked(type)) return std::nullopt;
  const auto axis = ir::place_of_axis(dim->i, type->rank());
  if (!axis) return std::nullopt;
  return Layout{.placement = Placement::kSharded,
                .axis = static_cast<int>(*axis),
                .group = rank_group(graph, collective)};
}

// Whether the body of a function, or of one that it calls, has a collective.
bool communicates(const ir::Model& model, const ir::Function& function,
                  std::set<const ir::Function*>& seen) {
  if (!seen.insert(&function).second) return false;
  const ir::Graph& body = function.body;
  for (const NodeId node : body.live_nodes()) {
    const ir::Op& op = body.op(node);
    if (is_collective(op)) return true;
    const ir::Function* called = model.find_function(op);
    if (called != nullptr && communicates(model, *called, seen)) return true;
  }
  return false;
}

// How a node's result lies, by what its operands have in common.
struct Transfer {
  const ir::Graph& graph;
  NodeId node;
  std::span<const OperandFacts> inputs;
  std::span<const Type* const> outputs;
  std::size_t output;
  const ir::Op& op = graph.op(node);

  std::optional<Layout> result() const {
    for (const ir::Attribute& a : graph.node(node).attributes) {
      if (!a.blocks.empty()) return std::nullopt;  // they may read anything
    }
    const ir::Model& model = graph.model();
    const ir::Function* called = model.find_function(op);
    std::set<const ir::Function*> seen;
    if (called != nullptr && communicates(model, *called, seen)) {
      return std::nullopt;
    }
    if (const auto i = first(Placement::kSharded)) return of_shares(*i);
    if (const auto i = first(Placement::kPartial)) return of_terms(*i);
    std::optional<Layout> out = Layout{.assumed = !ops::has_axis_flow(op)};
    for (std::size_t i = 0; i < inputs.size() && out; ++i) {
      if (!counts(i)) continue;
      const Layout* layout = inputs[i].layout;
      out = layout != nullptr ? meet(*out, *layout) : std::nullopt;
    }
    if (out && out->everywhere()) out->assumed = true;
    return out;
  }

  // Whether the result varies with this operand. Settings are the same on all
  // ranks, as attributes are, unless they are computed.
  bool counts(std::size_t i) const {
    const bool is_setting =
        i > 0 && ops::roles_of(op).settings && inputs[i].fixed;
    return graph.input(node, i) && !is_setting && !ops::reads_type_only(op, i);
  }

  std::optional<std::size_t> first(Placement placement) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Layout* layout = inputs[i].layout;
      if (counts(i) && layout != nullptr && layout->placement == placement) {
        return i;
      }
    }
    return std::nullopt;
  }

  // Whether the operand lies as wanted; whether that is assumed goes to `out`.
  bool fits(std::size_t i, const Layout& wanted, Layout& out) const {
    const Layout* layout = inputs[i].layout;
    const auto met = layout != nullptr ? meet(wanted, *layout) : std::nullopt;
    out.assumed = out.assumed || (met && met->assumed);
    return met.has_value();
  }

  // What works token by token makes shares of shares. A constant may be one
  // rank's own: the result is then a share of what the ranks made with theirs.
  std::optional<Layout> of_shares(std::size_t from) const {
    Layout out = *inputs[from].layout;
    if (from == 0 && sums_along(static_cast<std::size_t>(out.axis))) {
      return Layout{Placement::kPartial, 0, out.group, out.assumed};
    }
    std::vector<const Type*> types;
    for (const OperandFacts& each : inputs) types.push_back(each.type);
    const auto flow =
        ops::axis_flow(graph, node, {types, outputs}, {false, from}, out.axis);
    if (!flow) return std::nullopt;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int axis = flow->inputs[i];
      const bool same = axis == ops::AxisFlow::kSame;
      if (!counts(i) || (same && inputs[i].fixed)) continue;
      const Layout wanted = same ? Layout{.group = out.group}
                                 : Layout{Placement::kSharded, axis, out.group};
      if (!fits(i, wanted, out)) return std::nullopt;
    }
    out.axis = flow->outputs[output];
    return out.axis == ops::AxisFlow::kSame ? std::nullopt : std::optional(out);
  }

  // Seen by its size, which the axis keeps as 1.
  bool sums_along(std::size_t axis) const {
    const Type *in = inputs[0].type, *out = outputs[0];
    return op.standard("ReduceSum") && ir::is_ranked(in) &&
           ir::is_ranked(out) && axis < in->rank() &&
           in->rank() == out->rank() && in->dims[axis] != ir::Dim(1) &&
           out->dims[axis] == ir::Dim(1);
  }

  // Sums of terms, and scalings of one, are terms of the result. What rounds to
  // integers is not linear.
  std::optional<Layout> of_terms(std::size_t from) const {
    const Type* type = outputs[output];
    if (!ops::roles_of(op).linear || type == nullptr ||
        !ir::is_float(type->elem)) {
      return std::nullopt;
    }
    const bool adds = ops::roles_of(op).sum || op.standard("Concat");
    if (op.standard("Div") && from > 0) return std::nullopt;
    Layout out = *inputs[from].layout;
    const Layout wanted = adds ? out : Layout{.group = out.group};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i != from && counts(i) && !fits(i, wanted, out)) return std::nullopt;
    }
    return out;
  }
};

}  // namespace

bool Layout::operator==(const Layout& other) const {
  return placement == other.placement && axis == other.axis &&
         std::ranges::equal(group, other.group) && assumed == other.assumed;
}

bool is_replicated(const Layout* layout, Group group) {
  return layout != nullptr && layout->placement == Placement::kReplicated &&
         (layout->everywhere() || std::ranges::equal(layout->group, group));
}

std::optional<Layout> meet(const Layout& a, const Layout& b) {
  Layout out = a.everywhere() && b.placement == Placement::kReplicated ? b : a;
  out.assumed = a.assumed || b.assumed;
  Layout other =
      b.everywhere() && a.placement == Placement::kReplicated ? a : b;
  other.assumed = out.assumed;
  return out == other ? std::optional(out) : std::nullopt;
}

std::optional<Layout> result_layout(const ir::Graph& graph, NodeId node,
                                    std::span<const OperandFacts> inputs,
                                    std::span<const Type* const> outputs,
                                    std::size_t output) {
  const ir::Op& op = graph.op(node);
  if (!is_collective(op)) {
    return Transfer{graph, node, inputs, outputs, output}.result();
  }
  if (!is_understood(graph, node)) return std::nullopt;
  if (op.type == "reduce_scatter") return share(graph, node, outputs[0]);
  return Layout{.group = rank_group(graph, node)};
}

std::optional<Layout> sent_layout(const ir::Graph& graph, NodeId collective,
                                  const Type* type) {
  if (!is_understood(graph, collective)) return std::nullopt;
  std::optional<Layout> out =
      graph.op(collective).type == "all_gather"
          ? share(graph, collective, type)
          : Layout{.placement = Placement::kPartial,
                   .group = rank_group(graph, collective)};
  if (out) out->assumed = true;
  return out;
}

}  // namespace ruleengine::ranks
