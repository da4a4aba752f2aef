// Reads a node in its newest opset form: axes as an input, Softmax on one axis.
// Internal to bindings/lua.
#pragma once

#include <span>

#include "bindings/lua/session/host.h"

namespace ruleengine::lua {

// The views live until the next reading of the same session. `readable` is
// false for an older form that the newest opset cannot express; then inputs and
// attributes are those of the node itself.
struct Reading {
  std::span<const ir::ValueId> inputs;
  std::span<const ir::Attribute> attributes;
  bool readable = true;

  const ir::Attribute* attribute(std::string_view name) const;
};
Reading read_node(Host& host, ir::NodeId node);

}  // namespace ruleengine::lua
