// A hint for the name of an element type that does not exist. Pure; any thread.
#ifndef RULEENGINE_CORE_IR_DATA_TYPE_HINT_H_
#define RULEENGINE_CORE_IR_DATA_TYPE_HINT_H_

#include <string>
#include <string_view>

namespace ruleengine::ir {

// "did you mean 'float16'?", also for names that other tools use ("fp16"); else
// the list of all types.
std::string data_type_hint(std::string_view name);

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_DATA_TYPE_HINT_H_
