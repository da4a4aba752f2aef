// Graphviz: runs the program `dot` on text. It is a separate Debian package; if
// it is missing, a diagnostic says so. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"

namespace ruleengine::api {

// The SVG of each digraph, in order; several are drawn in parallel. kLimit if
// all of it takes longer than two minutes.
Result<std::vector<std::string>> svgs_of(const std::vector<std::string>& dots,
                                         const Deadline& deadline);

}  // namespace ruleengine::api
