// Residual chains: what stands between collectives and works token by token.
// Sums over the ranks enter it, residuals go from one to the next, norms leave
// it. Each rank may work on its share of the tokens there, all along one chain
// or nowhere on it: half a chain would send more than none. Found by following
// the axis of the tokens through the graph, in time linear in its nodes;
// nothing is changed, and nothing owned beyond the lists.
#ifndef RULEENGINE_CORE_ANALYSIS_RESIDUAL_CHAINS_H_
#define RULEENGINE_CORE_ANALYSIS_RESIDUAL_CHAINS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::analysis {

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
  std::span<const std::int64_t> group;  // an attribute of the model
  std::int64_t place = 0;               // of this rank in its group
  // In computation order: collectives that bring in shares (all_reduce,
  // all_gather), and what works on shares.
  std::vector<ir::NodeId> nodes;
  std::vector<Share> shares;   // results of nodes that lie on the chain
  std::vector<Share> entries;  // what each rank takes its share of
  // Why the chain stays as it is, and the value that it breaks at; "" where it
  // may be shared out.
  std::string broken;
  ir::ValueId culprit;
};

// In the order of their first sums; of the main graph's block alone.
std::vector<ResidualChain> residual_chains(const ir::Graph& graph,
                                           ir::Facts& facts,
                                           const ChainOptions& options = {});

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_RESIDUAL_CHAINS_H_
