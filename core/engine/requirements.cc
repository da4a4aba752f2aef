#include "core/engine/requirements.h"

#include "core/rewrite/functions.h"

namespace ruleengine::engine {

Requirements Requirements::beyond(const Requirements& other) const {
  Requirements out{functions && !other.functions, overloads && !other.overloads,
                   domains, opset > other.opset ? opset : 0,
                   ir_version > other.ir_version ? ir_version : 0};
  for (const std::string& each : other.domains) out.domains.erase(each);
  return out;
}

Requirements requirements_of(const ir::Model& model) {
  Requirements out{.opset = model.opset(""), .ir_version = model.ir_version};
  for (const auto& f : model.functions) {
    if (f->removed) continue;
    out.functions = true;
    out.overloads = out.overloads || !f->overload.empty();
  }
  for (const ir::Graph* graph : rewrite::rewritable_graphs(model)) {
    for (std::size_t i = 0; i < graph->node_count(); ++i) {
      const ir::NodeId node(i);
      const ir::Op& op = graph->op(node);
      if (graph->node(node).removed || op.domain.empty()) continue;
      if (model.find_function(op) == nullptr) out.domains.emplace(op.domain);
    }
  }
  return out;
}

}  // namespace ruleengine::engine
