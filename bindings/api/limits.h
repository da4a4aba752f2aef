// What every call of the library is given: limits, and who hears how it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/deadline.h"

namespace ruleengine::api {

struct Limits {
  Deadline deadline;            // of all that the call does
  double callback_seconds = 5;  // one callback of a rule
  double load_seconds = 2;      // loading one rule file
  // Bytes of rule code, and those that a model may grow by.
  std::size_t memory = std::size_t{1} << 30;
  // Bytes of tensors at once; 0: three quarters of the machine's memory.
  std::size_t tensors = 0;
};

// How far a call has come, out of `total`. May be empty.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Hears of faults that do not stop the call. May be empty.
using Warn = std::function<void(const std::string&)>;

}  // namespace ruleengine::api
