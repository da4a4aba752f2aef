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

bool counts_axes_of_result(std::string_view domain, std::string_view type) {
  return roles_of(domain, type).counts_axes_of_result;
}

bool takes_axes_in_any_order(std::string_view domain, std::string_view type) {
  const OpFamily family = op_family(domain, type);
  return family == OpFamily::kReduction || family == OpFamily::kView;
}

}  // namespace ruleengine::ops
