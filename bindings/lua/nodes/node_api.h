// Nodes and the graph as rule code sees them: n.op, n.inputs.w_scale,
// n.attrs.axis, graph:nodes{op = "Softmax"}; in the newest opset: axes as an
// input, Softmax on one axis. Internal to bindings/lua.
#pragma once

#include <span>

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// Metatables of nodes, their inputs and attributes, and graphs.
void make_node_metatables(Host& host, lua_State* state);

// A node in its newest form. The views live until the next reading of the same
// session. `readable` is false for an older form that the newest opset cannot
// express; then inputs and attributes are those of the node itself.
struct Reading {
  std::span<const ir::ValueId> inputs;
  std::span<const ir::Attribute> attributes;
  bool readable = true;

  const ir::Attribute* attribute(std::string_view name) const;
};
Reading read_node(Host& host, ir::NodeId node);

}  // namespace ruleengine::lua
