#include "core/ir/facts.h"

#include "core/ir/model.h"
#include "core/ir/shapes.h"

namespace ruleengine::ir {

std::string describe(const Graph& graph, Facts& facts, ValueId value) {
  if (!value) return "an absent value";
  std::string out;
  const NodeId producer = graph.producer(value);
  if (!graph.name(value).empty()) {
    out = quoted_name(graph.name(value));
  } else if (producer) {
    out = "the result of a new " + graph.op(producer).text();
  } else {
    out = "a new constant";
  }
  const Type* type = facts.type(value);
  if (type == nullptr) return out + " of unknown type";
  return out + " " + type_text(graph.model().dims, *type);
}

}  // namespace ruleengine::ir
