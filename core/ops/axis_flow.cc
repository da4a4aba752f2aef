#include "core/ops/axis_flow.h"

#include <vector>

#include "core/ops/rules/flow.h"

namespace ruleengine::ops {

std::optional<AxisFlow> axis_flow(const ir::Graph& graph, ir::NodeId node,
                                  const PortTypes& types, Port port, int axis) {
  const ir::Op& op = graph.op(node);
  const OpRow* row = find_row(op);
  if (row == nullptr || row->axes == nullptr || types.inputs.empty() ||
      types.outputs.empty()) {
    return std::nullopt;
  }
  const NodeView view(graph, node, graph.opset(op.domain));
  Flow flow(view, types);
  const ir::Type* type = flow.type(port);
  if (view.blocked() || !is_ranked(type) || axis < 0 ||
      axis >= flow.rank(type) || !row->axes(flow, port, axis)) {
    return std::nullopt;
  }
  return flow.axes;
}

std::optional<AxisFlow> axis_flow(const ir::Graph& graph, ir::Facts& facts,
                                  ir::NodeId node, Port port, int axis) {
  if (!has_axis_flow(graph.op(node))) return std::nullopt;
  std::vector<const ir::Type*> in, out;
  for (const ir::Operand& o : graph.inputs(node)) {
    in.push_back(o.value ? facts.type(o.value) : nullptr);
  }
  for (ir::ValueId v : graph.outputs(node)) {
    out.push_back(v ? facts.type(v) : nullptr);
  }
  return axis_flow(graph, node, {in, out}, port, axis);
}

bool has_axis_flow(const ir::Op& op) {
  const OpRow* row = find_row(op);
  return row != nullptr && row->axes != nullptr;
}

bool reads_type_only(const ir::Op& op, std::size_t input) {
  const OpRow* row = find_row(op);
  return row != nullptr && input < 32 && (row->types_only >> input & 1) != 0;
}

}  // namespace ruleengine::ops
