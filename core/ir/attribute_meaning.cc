#include "core/ir/attribute_meaning.h"

#include <algorithm>

namespace ruleengine::ir {

bool names_element_type(std::string_view attribute) {
  static constexpr std::string_view kNames[] = {
      "dtype",     "out_dtype",         "output_datatype", "output_dtype",
      "precision", "softmax_precision", "stash_type",      "to"};
  static_assert(std::ranges::is_sorted(kNames));
  return std::ranges::binary_search(kNames, attribute);
}

}  // namespace ruleengine::ir
