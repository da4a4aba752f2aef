// How a node treats one axis of its operands when it works on each position of
// that axis by itself, as sums, norms, casts and views do on tokens: such a
// node may run on a part of the positions, and gives that part of its results.
// Pure functions of the node and the types around it.
#ifndef RULEENGINE_CORE_RANKS_AXIS_FLOW_H_
#define RULEENGINE_CORE_RANKS_AXIS_FLOW_H_

#include <cstddef>
#include <optional>
#include <span>

#include "core/base/small_vector.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::ranks {

// An operand of a node.
struct Port {
  bool output = false;
  std::size_t index = 0;
};

// Where the axis lies in each operand; kSame: absent, or the same for every
// position.
struct AxisFlow {
  static constexpr int kSame = -1;
  SmallVector<int, 6> inputs, outputs;
};

// nullptr where a type is not known.
struct PortTypes {
  std::span<const ir::Type*const> inputs, outputs;
};

// None when the node mixes positions, or when that cannot be told.
std::optional<AxisFlow> axis_flow(const ir::Graph& graph, ir::NodeId node,
                                  const PortTypes& types, Port port, int axis);

// The same with the types that `facts` knows.
std::optional<AxisFlow> axis_flow(const ir::Graph& graph, ir::Facts& facts,
                                  ir::NodeId node, Port port, int axis);

// Whether axis_flow knows the op.
bool has_axis_flow(const ir::Op& op);

// Whether the node asks no more of this input than its type.
bool reads_type_only(const ir::Op& op, std::size_t input);

// Sums, scalings, casts and views: what a residual stays a residual through.
bool is_linear(const ir::Op& op);

// Whether what it reads behind its first input are settings, sizes or axes or a
// type, that go with the node as its attributes do.
bool has_settings(const ir::Op& op);

// Norms over a last axis, and reductions, which norms are made of.
bool is_normalizing(const ir::Op& op);

}  // namespace ruleengine::ranks

#endif  // RULEENGINE_CORE_RANKS_AXIS_FLOW_H_
