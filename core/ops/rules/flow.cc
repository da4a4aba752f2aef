#include "core/ops/rules/flow.h"

namespace ruleengine::ops {

using ir::Dim;
using ir::Type;

Flow::Flow(const NodeView& of, const PortTypes& around)
    : node(of), types(around) {
  axes.inputs.resize(types.inputs.size(), AxisFlow::kSame);
  axes.outputs.resize(types.outputs.size(), AxisFlow::kSame);
}

bool Flow::broadcast(Port port, int axis) {
  const Type* out = types.outputs[first_output()];
  if (!is_ranked(out)) return false;
  const int from_right = rank(type(port)) - axis;  // 1: the last axis
  if (from_right > rank(out)) return false;
  const Dim size = type(port)->dims[at(axis)];
  if (size == Dim(1)) return false;
  return line_up(true, from_right, size) && line_up(false, from_right, size) &&
         axes.outputs[first_output()] != AxisFlow::kSame;
}

bool Flow::line_up(bool inputs, int from_right, Dim size) {
  const auto all = inputs ? types.inputs : types.outputs;
  auto& places = inputs ? axes.inputs : axes.outputs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!present(inputs, i)) continue;
    if (!is_ranked(all[i])) return false;
    const int axis = rank(all[i]) - from_right;
    if (axis < 0 || all[i]->dims[at(axis)] == Dim(1)) continue;
    if (all[i]->dims[at(axis)] != size) return false;
    places[i] = axis;
  }
  return true;
}

// The first output that is present: earlier ones may be left out.
std::size_t Flow::first_output() const {
  std::size_t i = 0;
  while (i + 1 < types.outputs.size() && !present(false, i)) ++i;
  return i;
}

bool Flow::same_place(int axis) {
  const Type* in = types.inputs[0];
  if (!is_ranked(in) || axis >= rank(in)) return false;
  axes.inputs[0] = axis;
  for (std::size_t i = 0; i < types.outputs.size(); ++i) {
    if (!present(false, i)) continue;
    const Type* out = types.outputs[i];
    if (!is_ranked(out) || rank(out) != rank(in)) return false;
    if (out->dims[at(axis)] != in->dims[at(axis)]) return false;
    axes.outputs[i] = axis;
  }
  return true;
}

bool flow_elementwise(Flow& flow, Port port, int axis) {
  return flow.broadcast(port, axis);
}

bool flow_norm(Flow& flow, Port port, int axis) {
  const Type* in = flow.types.inputs[0];
  if (!is_ranked(in)) return false;
  // The first axis that it works on; ops that do not say it take the last.
  const NodeView& v = flow.node;
  const std::int64_t own = v.may_have("axis") ? v.attribute_int("axis") : -1;
  const int rank = Flow::rank(in);
  return rank - Flow::from_front(own, rank) <
             Flow::rank(flow.type(port)) - axis &&
         flow.broadcast(port, axis);
}

bool flow_like_first(Flow& flow, Port port, int axis) {
  return Flow::first_only(port) && flow.same_place(axis);
}

}  // namespace ruleengine::ops
