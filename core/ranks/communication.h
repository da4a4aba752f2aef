// What the ranks of a model send to each other: each collective, and the bytes
// that one rank sends for it where the ranks stand in a ring, which is the
// least that any of them can do with:
//   all_reduce      2 (N-1)/N of its input
//   reduce_scatter    (N-1)/N of its input
//   all_gather        (N-1)   of its input
// Pure functions of the graph and its types.
#ifndef RULEENGINE_CORE_RANKS_COMMUNICATION_H_
#define RULEENGINE_CORE_RANKS_COMMUNICATION_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::ranks {

// all_reduce, reduce_scatter or all_gather of the dialect.
bool is_collective(const ir::Op& op);

// The ranks of a collective, an attribute of the model; empty: not said.
std::span<const std::int64_t> rank_group(const ir::Graph& graph,
                                         ir::NodeId node);

// An attribute of a collective that no collective of the dialect has, "" for
// none: it may be no sum then.
std::string_view unknown_attribute(const ir::Graph& graph, ir::NodeId node);

// Of one op.
struct Sent {
  std::uint64_t nodes = 0;    // calls of functions count theirs
  std::uint64_t unknown = 0;  // those of them that send who knows how much
  double bytes = 0;           // that one rank sends for the others
};
using Traffic = std::map<std::string, Sent>;

// Of all blocks and of the functions that are called. Nobody knows how often
// the body of a loop runs, nor here the sizes in a function.
Traffic traffic(const ir::Graph& graph, ir::Facts& facts);

}  // namespace ruleengine::ranks

#endif  // RULEENGINE_CORE_RANKS_COMMUNICATION_H_
