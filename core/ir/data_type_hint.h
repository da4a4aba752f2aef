// A hint for the name of an element type that does not exist. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace ruleengine::ir {

// "did you mean 'float16'?", also for names that other tools use ("fp16"); else
// the list of all types.
std::string data_type_hint(std::string_view name);

}  // namespace ruleengine::ir
