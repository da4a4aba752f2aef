// How a node treats one axis of its operands. Sums, norms, casts and views, for
// example, treat each token by itself: such a node may run on a part of the
// positions of the axis, and then gives that part of its results. Pure
// functions of the node and the types around it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/base/small_vector.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::ops {

// An input or output of a node.
struct Port {
  bool output = false;
  std::size_t index = 0;
};

// The axis in each operand; kSame: the operand is absent, or has the same value
// for every position.
struct AxisFlow {
  static constexpr int kSame = -1;
  SmallVector<int, 6> inputs, outputs;
};

// A pointer is nullptr where the type is not known.
struct PortTypes {
  std::span<const ir::Type*const> inputs, outputs;
};

// None when the node mixes positions, or may mix them.
std::optional<AxisFlow> axis_flow(const ir::Graph& graph, ir::NodeId node,
                                  const PortTypes& types, Port port, int axis);

// The same, with the types from `facts`.
std::optional<AxisFlow> axis_flow(const ir::Graph& graph, ir::Facts& facts,
                                  ir::NodeId node, Port port, int axis);

// Whether axis_flow knows the op.
bool has_axis_flow(const ir::Op& op);

// Whether the node needs only the type of this input.
bool reads_type_only(const ir::Op& op, std::size_t input);

}  // namespace ruleengine::ops
