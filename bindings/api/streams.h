// The model that a program reads from stdin, which its command line calls "-".
// Other doors never read stdin: to them "-" is a file like any other.
#pragma once

#include <string>

#include "core/base/deadline.h"
#include "core/base/result.h"

namespace ruleengine::api {

// Reads stdin to its end. From then on the model "-" is what stdin gave; its
// external data lies in the current folder. To be called once, before threads
// start.
Status read_standard_input(const Deadline& deadline);

// What stdin gave, if that is what the path means and it was read; else
// nullptr. Lives as long as the program.
const std::string* standard_input(const std::string& path);

}  // namespace ruleengine::api
