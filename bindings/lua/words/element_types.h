// Element types by the names that rules write: the ONNX names ("float") and two
// common aliases ("float32", "float64"), and Lua's numbers as elements. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/ir/data_type.h"

namespace ruleengine::lua {

ir::DataType element_type(std::string_view name);  // kUndefined: no such type

bool fits_float(double number);  // neither infinite nor 0 as a float
// Writes one element; false when the type cannot hold the number.
bool store_element(std::byte* to, ir::DataType type, double number);

}  // namespace ruleengine::lua
