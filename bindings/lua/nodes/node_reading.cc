#include "bindings/lua/nodes/node_api.h"

#include "core/ir/model.h"

namespace ruleengine::lua {

const ir::Attribute* Reading::attribute(std::string_view name) const {
  for (const ir::Attribute& a : attributes) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

Reading read_node(Host& host, ir::NodeId node) {
  Session& session = host.session;
  ir::Graph& graph = *session.graph;
  if (!session.upgrades) {
    session.upgrades.emplace(graph, graph.opset(""));
  }
  ops::NewestForm& form = session.form;
  const bool older = session.upgrades->needed(graph.node(node).op);
  if (older) session.upgrades->view(node, *session.facts, form);
  if (!older || !form.readable) {
    form.inputs.clear();
    for (const ir::Operand& use : graph.inputs(node)) {
      form.inputs.push_back(use.value);
    }
    return {.inputs = form.inputs,
            .attributes = graph.node(node).attributes,
            .readable = !older};
  }
  return {.inputs = form.inputs, .attributes = form.attributes};
}

}  // namespace ruleengine::lua
