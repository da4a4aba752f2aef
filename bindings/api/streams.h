// The model that a program reads from stdin, which its command line calls "-".
// Other doors never read stdin: to them "-" is a file like any other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/deadline.h"
#include "core/base/result.h"

namespace ruleengine::api {

// From now on the model "-" is what stdin gives. To be called once, before
// other threads start.
void use_standard_input();

// What stdin gave, if that is what the path means; else none. The first call
// reads stdin to its end and waits for it until the deadline. The bytes live as
// long as the program. kModel if there is nothing, too much, or if reading
// fails; kLimit when the deadline passes. Any thread.
Result<std::optional<std::string_view>> standard_input(
    const std::string& path, const Deadline& deadline = {});

}  // namespace ruleengine::api
