// Graphviz: the program `dot`, run on text. It is a Debian package of its own
// and may be missing, which is one diagnostic. Thread-safe.
#ifndef RULEENGINE_BINDINGS_CLI_GRAPHVIZ_H_
#define RULEENGINE_BINDINGS_CLI_GRAPHVIZ_H_

#include <string>
#include <vector>

#include "core/base/result.h"

namespace ruleengine::cli {

// The SVG of each digraph, in order; several are drawn side by side. What all
// of it takes longer than `seconds` for is a limit.
Result<std::vector<std::string>> svgs_of(const std::vector<std::string>& dots,
                                         double seconds);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_GRAPHVIZ_H_
