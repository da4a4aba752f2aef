#include "core/ops/rank_default.h"

#include "core/ops/op_row.h"

namespace ruleengine::ops {

std::optional<std::vector<std::int64_t>> rank_default(const OpFacts& op,
                                                      std::string_view name,
                                                      const ir::Type* input) {
  if (input == nullptr || !input->has_shape) return {};
  const OpRow* row = find_row(op.domain, op.type);
  if (row == nullptr || row->rank_default == nullptr) return {};
  return row->rank_default(name, input->rank());
}

}  // namespace ruleengine::ops
