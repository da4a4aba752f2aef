// How far the pattern of a rule got where it does not match: for `explain`, for
// examples that should have matched, and for attention that is left. Reads the
// graph; costs what the oracle costs at each node.
#ifndef RULEENGINE_CORE_ENGINE_NEAREST_MISS_H_
#define RULEENGINE_CORE_ENGINE_NEAREST_MISS_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/match/match.h"
#include "core/pattern/pattern.h"

namespace ruleengine::engine {

// The misses of the attempts at these roots that got furthest, at most `most`,
// the furthest one first. Of attempts that got no further than the op of their
// root there is at most one, with no root. Empty where the pattern matches at
// every root, or there is none. Ends early when the time is over, which the
// caller tells.
std::vector<match::Miss> nearest_misses(const pattern::Pattern& pattern,
                                        ir::Graph& graph, ir::Facts& facts,
                                        std::span<const ir::NodeId> roots,
                                        std::size_t most,
                                        const Deadline& deadline);

// Lines "what: text". `file`: of the rule.
std::string text_of(const match::Miss& miss, const pattern::Pattern& pattern,
                    const std::string& file, const ir::Graph& graph);

// Every node that is there.
std::vector<ir::NodeId> all_nodes(const ir::Graph& graph);

}  // namespace ruleengine::engine

#endif  // RULEENGINE_CORE_ENGINE_NEAREST_MISS_H_
