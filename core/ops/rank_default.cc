#include "core/ops/rank_default.h"

#include "core/ops/op_row.h"

namespace ruleengine::ir {

std::optional<std::vector<std::int64_t>> rank_default(const OpFacts& op,
                                                      std::string_view name,
                                                      const Type* input) {
  if (input == nullptr || !input->has_shape) return {};
  const ops::OpRow* row = ops::find_row(op.domain, op.type);
  if (row == nullptr || row->rank_default == nullptr) return {};
  return row->rank_default(name, input->rank());
}

}  // namespace ruleengine::ir
