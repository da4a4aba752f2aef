// Residual chains: what stands between collectives and works token by token.
// Sums over the ranks enter it, residuals go from one to the next, norms leave
// it. Each rank may work on its share of the tokens there, all along one chain
// or nowhere on it: half a chain would send more than none. Found by following
// the axis of the tokens through the graph, in time linear in its operands;
// nothing is changed, and nothing owned beyond the lists, which hold until an
// edit changes what is on the chain. Norm weights, biases, scales and whatever
// else a node on it reads beside shares are taken to be the same on all ranks;
// what is known not to be is on no chain (common_values.h).
// A graph with a cycle has no chains.
#ifndef RULEENGINE_CORE_RANKS_RESIDUAL_CHAINS_H_
#define RULEENGINE_CORE_RANKS_RESIDUAL_CHAINS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::ranks {

struct ChainOptions {
  // Graph inputs and constants are the same on all ranks, each of which may
  // take its share of them: a chain may begin without a sum.
  bool entry = false;
  // Tokens may be padded up to a multiple of the ranks.
  bool uneven = false;
};

// A value of which each rank may have its share along `axis`.
struct Share {
  ir::ValueId value;
  int axis = 0;
};

struct ResidualChain {
  ir::NodeId sum;                       // its first all_reduce
  std::span<const std::int64_t> group;  // an attribute, alive with the Model
  // Of this rank in its group; none: the model does not say which one it is.
  std::optional<std::int64_t> place;
  // In computation order: collectives that bring in shares (all_reduce,
  // all_gather), and what works on shares.
  std::vector<ir::NodeId> nodes;
  std::vector<Share> shares;  // results of nodes that lie on the chain
  // What each rank takes its share of; several chains may share one.
  std::vector<Share> entries;
  // Why the chain stays as it is, and the value that it breaks at; "" where it
  // may be shared out.
  std::string broken;
  ir::ValueId culprit;
};

// In the order of their first sums; of the main graph's block alone.
std::vector<ResidualChain> residual_chains(const ir::Graph& graph,
                                           ir::Facts& facts,
                                           const ChainOptions& options = {});

}  // namespace ruleengine::ranks

#endif  // RULEENGINE_CORE_RANKS_RESIDUAL_CHAINS_H_
