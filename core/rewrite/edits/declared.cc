#include "core/rewrite/edits/declared.h"

namespace ruleengine::rewrite {

bool is_believed(const ir::Type& declared, const ir::Type& known) {
  if (!declared.is_tensor() || !declared.has_shape || !known.has_shape ||
      declared.rank() != known.rank()) {
    return true;
  }
  for (std::size_t i = 0; i < declared.rank(); ++i) {
    if (declared.dims[i].known() && !known.dims[i].known()) return false;
  }
  return true;
}

void forget_stale(ir::Graph& graph, ir::Facts& facts) {
  if (!facts.has_stale_sizes()) return;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id(i);
    const ir::Value& v = graph.value(id);
    if (v.removed || v.declared == nullptr || v.block_output_count > 0 ||
        v.kind != ir::ValueKind::kNodeOutput) {
      continue;
    }
    const ir::Type* known = facts.type(id);
    if (known != nullptr && !is_believed(*v.declared, *known)) {
      graph.mutable_value(id).declared = nullptr;
    }
  }
}

}  // namespace ruleengine::rewrite
