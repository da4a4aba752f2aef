#include "core/ops/rank_default.h"

#include <numeric>

namespace ruleengine::ir {

std::optional<std::vector<std::int64_t>> rank_default(const OpFacts& op,
                                                      std::string_view name,
                                                      const Type* input) {
  if (!op.domain.empty() || op.type != "Transpose" || name != "perm") return {};
  if (input == nullptr || !input->has_shape) return {};
  std::vector<std::int64_t> axes(input->rank());
  std::iota(axes.rbegin(), axes.rend(), 0);  // reversed
  return axes;
}

}  // namespace ruleengine::ir
