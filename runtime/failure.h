// Failure: how a kernel says that it cannot compute. Kernels are many and
// small, and nearly every line of them can fail on input, so within runtime/
// and kernels/ a failure is thrown; the Executor catches it, adds the node, and
// returns it as a Diagnostic like every other error (decision 0022).
#pragma once

#include <string>
#include <utility>

#include "core/base/diagnostic.h"

namespace ruleengine::runtime {

struct Failure {
  Diagnostic error;
};

[[noreturn]] inline void fail(std::string what, std::string expected = {},
                              std::string found = {}) {
  throw Failure{{.kind = ErrorKind::kModel,
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .found = std::move(found)}};
}

[[noreturn]] inline void fail_limit(Remedy remedy, std::string what,
                                    std::string expected, std::string found) {
  throw Failure{{.kind = ErrorKind::kLimit,
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .found = std::move(found),
                 .remedy = remedy}};
}

}  // namespace ruleengine::runtime
