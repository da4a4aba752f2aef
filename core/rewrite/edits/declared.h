// Sizes that a file declares of values inside and that its inputs contradict: a
// number where the size varies with the inputs.
// Internal to core/rewrite.
#ifndef RULEENGINE_CORE_REWRITE_EDITS_DECLARED_H_
#define RULEENGINE_CORE_REWRITE_EDITS_DECLARED_H_

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::rewrite {

// False where a number is declared and `known` says a size that varies.
bool is_believed(const ir::Type& declared, const ir::Type& known);

// Takes the declarations away that are not believed, if there are any: a
// runtime that believes them computes a new Shape at load time, with the old
// numbers.
void forget_stale(ir::Graph& graph, ir::Facts& facts);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_EDITS_DECLARED_H_
