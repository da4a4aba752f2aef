// A Failure on its way to Python, where it becomes a ruleengine.Error.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "bindings/api/failure.h"

namespace ruleengine::python {

namespace nb = nanobind;

using api::check, api::Failure, api::misuse, api::take;

// A str; bytes that are not UTF-8 are escaped.
nb::str text(std::string_view bytes);
nb::list list_of(const std::vector<std::string>& texts);

// Makes Failure, and what the standard library throws, exceptions of the
// package.
void register_failures();

}  // namespace ruleengine::python
