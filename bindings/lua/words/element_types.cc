#include "bindings/lua/words/element_types.h"

namespace ruleengine::lua {

ir::DataType element_type(std::string_view name) {
  if (name == "float32") return ir::DataType::kFloat;
  if (name == "float64") return ir::DataType::kDouble;
  return ir::data_type_from_name(name);
}

}  // namespace ruleengine::lua
