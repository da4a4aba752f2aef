// What was meant by the name of an element type that is none. Pure; any thread.
#ifndef RULEENGINE_CORE_IR_DATA_TYPE_HINT_H_
#define RULEENGINE_CORE_IR_DATA_TYPE_HINT_H_

#include <string>
#include <string_view>

namespace ruleengine::ir {

// "did you mean 'float16'?", also of names that other tools have ("fp16"), or
// which types there are.
std::string data_type_hint(std::string_view name);

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_DATA_TYPE_HINT_H_
