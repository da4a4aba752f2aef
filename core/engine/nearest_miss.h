// How far the pattern of a rule got if it does not match: for `explain`, for
// examples that should have matched, and for attention that is left. Only reads
// the graph; costs one run of the oracle for each node.
#pragma once

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

// The misses at these roots that got furthest, at most `most`, the furthest one
// first. If no attempt got beyond the op of its root, there is one miss,
// without a root. Empty if the pattern matches at every root, or if there are
// no roots. Stops early at the deadline, which the caller must check.
std::vector<match::Miss> nearest_misses(const pattern::Pattern& pattern,
                                        ir::Graph& graph, ir::Facts& facts,
                                        std::span<const ir::NodeId> roots,
                                        std::size_t most,
                                        const Deadline& deadline);

// Lines "what: text". `file`: the rule's file.
std::string text_of(const match::Miss& miss, const pattern::Pattern& pattern,
                    const std::string& file, const ir::Graph& graph);

// All nodes that were not removed.
std::vector<ir::NodeId> all_nodes(const ir::Graph& graph);

}  // namespace ruleengine::engine
