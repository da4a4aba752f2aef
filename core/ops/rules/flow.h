// Flow: what a rule for axes sees of a node, and the answer that it fills in;
// and the rules that families share. Internal to core/ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/ops/axis_flow.h"
#include "core/ops/op_row.h"

namespace ruleengine::ops {

class Flow {
 public:
  // There is a first input and a first output.
  Flow(const NodeView& of, const PortTypes& around);

  const NodeView& node;
  const PortTypes& types;
  AxisFlow axes;

  const ir::Type* type(Port port) const {
    return port.output ? types.outputs[port.index] : types.inputs[port.index];
  }
  static std::size_t at(int axis) { return static_cast<std::size_t>(axis); }
  static int rank(const ir::Type* type) {
    return static_cast<int>(type->rank());
  }
  // The axis counted from the front.
  static std::int64_t from_front(std::int64_t axis, int rank) {
    return axis < 0 ? axis + rank : axis;
  }
  static bool first_only(Port port) { return port.output || port.index == 0; }

  // Whether the first input and all results have the axis at the same position.
  bool same_place(int axis);
  // Whether every operand is aligned with the result from the right.
  bool broadcast(Port port, int axis);

 private:
  bool line_up(bool inputs, int from_right, ir::Dim size);
  std::size_t first_output() const;
  bool present(bool input, std::size_t i) const {
    return input ? node.has_input(i) : node.has_output(i);
  }
};

// Broadcasts; vectors of norms may be among the operands.
bool flow_elementwise(Flow& flow, Port port, int axis);
constexpr OpRow broadcasting(OpRow row) {
  row.family = OpFamily::kElementwise;
  row.roles.folds = row.roles.total = row.roles.broadcasts = true;
  row.axes = flow_elementwise;
  return row;
}
// Elementwise except along its own axes, the last ones.
bool flow_norm(Flow& flow, Port port, int axis);
// Shaped like its first input; the others are settings.
bool flow_like_first(Flow& flow, Port port, int axis);

}  // namespace ruleengine::ops
