#include "bindings/lua/element_types.h"

#include <cstdint>
#include <vector>

#include "core/base/suggest.h"

namespace ruleengine::lua {

ir::DataType element_type(std::string_view name) {
  if (name == "float32") return ir::DataType::kFloat;
  if (name == "float64") return ir::DataType::kDouble;
  return ir::data_type_from_name(name);
}

std::string element_type_hint(std::string_view name) {
  std::vector<std::string> names;
  for (std::int32_t i = 1; i < 64; ++i) {
    const auto type = static_cast<ir::DataType>(i);
    if (ir::is_known(type)) names.emplace_back(ir::data_type_name(type));
  }
  return suggestion(name, names);
}

}  // namespace ruleengine::lua
