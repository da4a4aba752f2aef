// Graphviz: the program `dot`, run on text. It is a Debian package of its own
// and may be missing, which is one diagnostic. Thread-safe.
#ifndef RULEENGINE_BINDINGS_CLI_GRAPHVIZ_H_
#define RULEENGINE_BINDINGS_CLI_GRAPHVIZ_H_

#include <string>

#include "core/base/result.h"

namespace ruleengine::cli {

// The SVG of each digraph in `dot`, one behind the other. What it takes longer
// than `seconds` for is a limit.
Result<std::string> svg_of(const std::string& dot, double seconds);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_GRAPHVIZ_H_
