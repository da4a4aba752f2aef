// The communication between the ranks of a model: each collective, and the
// bytes that one rank sends for it in a ring of N ranks, which is the minimum:
//   all_reduce      2 (N-1)/N of its input
//   reduce_scatter    (N-1)/N of its input
//   all_gather        (N-1)   of its input
// Pure functions of the graph and its types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::ranks {

// Whether the op is all_reduce, reduce_scatter or all_gather of the dialect.
bool is_collective(const ir::Op& op);

// The ranks of a collective, an attribute of the model; empty: not stated.
std::span<const std::int64_t> rank_group(const ir::Graph& graph,
                                         ir::NodeId node);

// The axis of the tokens in what collectives send, of two axes or more:
// [tokens, width], or [batch, tokens, ...]. The only definition of it.
constexpr int token_axis(std::size_t rank) { return rank == 2 ? 0 : 1; }

// An attribute of the node that no collective of the dialect has ("" if none):
// its meaning is unknown, so the collective may not be a sum.
std::string_view unknown_attribute(const ir::Graph& graph, ir::NodeId node);

// The bytes of a tensor; none where they are not known.
std::optional<double> known_bytes(const ir::Type* type);

// The communication of one op.
struct Sent {
  std::uint64_t nodes = 0;    // in functions: once for each call
  std::uint64_t unknown = 0;  // those whose bytes are not known
  double bytes = 0;           // that one rank sends
};
using Traffic = std::map<std::string, Sent>;

// Counts all blocks and all functions that are called. The bytes that
// bodies of loops and functions send are not known.
Traffic traffic(const ir::Graph& graph, ir::Facts& facts);

}  // namespace ruleengine::ranks
