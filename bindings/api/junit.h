// The examples of rules as JUnit XML, which CI services show.
#pragma once

#include <string>

#include "bindings/api/examples.h"

namespace ruleengine::api {

// A suite for each rule file, a case for each example; an example that was not
// executed says so in <system-out>. Errors of no example are a suite of their
// own. Valid XML for any bytes in names and texts.
std::string junit_of(const Tested& tested);

}  // namespace ruleengine::api
