// Element types by the names that rules write: the ONNX names ("float") and two
// common aliases ("float32", "float64"). Pure.
#ifndef RULEENGINE_BINDINGS_LUA_WORDS_ELEMENT_TYPES_H_
#define RULEENGINE_BINDINGS_LUA_WORDS_ELEMENT_TYPES_H_

#include <string_view>

#include "core/ir/data_type.h"

namespace ruleengine::lua {

ir::DataType element_type(std::string_view name);  // kUndefined: no such type

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_WORDS_ELEMENT_TYPES_H_
