#include "core/ops/attribute_meaning.h"

#include <algorithm>

#include "core/ops/op_row.h"

namespace ruleengine::ops {

bool names_element_type(std::string_view attribute) {
  static constexpr std::string_view kNames[] = {
      "dtype",     "out_dtype",         "output_datatype", "output_dtype",
      "precision", "softmax_precision", "stash_type",      "to"};
  static_assert(std::ranges::is_sorted(kNames));
  return std::ranges::binary_search(kNames, attribute);
}

bool names_axes(std::string_view name) {
  return name == "axis" || name == "axes";
}

std::optional<std::vector<std::int64_t>> rank_default(const OpFacts& op,
                                                      std::string_view name,
                                                      const ir::Type* input) {
  if (input == nullptr || !input->has_shape) return {};
  const OpRow* row = find_row(op.domain, op.type);
  if (row == nullptr || row->rank_default == nullptr) return {};
  return row->rank_default(name, input->rank());
}

}  // namespace ruleengine::ops
