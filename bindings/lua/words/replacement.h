// Replacement: what the function `replace` builds, traced once, as terms after
// those of the pattern. An expression that also occurs in the pattern is the
// same term and stands for what was matched. A plain value; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/pattern/pattern.h"

namespace ruleengine::lua {

struct Replacement {
  pattern::Pattern draft;  // the pattern's parts first, then its own
  std::size_t shared_terms = 0, shared_nodes = 0, shared_variables = 0;
  std::vector<pattern::TermId> results;
  // Parameters that the pattern does not have: what `where` computes.
  std::vector<std::string> computed;
  int line = 0;  // of the function

  // The tag of the pattern that names this node, so that the matched node is
  // kept; invalid when there is none.
  pattern::VariableId kept(const pattern::NodePattern& node) const;
};

// What is wrong with it, with the line; none when it can be built.
struct ReplacementProblem {
  int line = 0;
  Diagnostic diagnostic;
};
std::optional<ReplacementProblem> check_replacement(
    const Replacement& replacement, const pattern::Pattern& pattern);

}  // namespace ruleengine::lua
