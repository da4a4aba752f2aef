// Residual chains: the nodes between collectives that treat each token by
// itself. Sums over the ranks enter a chain, residuals go from one to the next,
// norms leave it. On a chain each rank may work on its share of the tokens: on
// the whole chain or nowhere, since half a chain would send more than none.
// Chains are found by following the token axis through the graph, in time
// linear in its operands. Nothing is changed or owned except the lists, which
// are valid until an edit changes a node of the chain. Norm weights, biases,
// scales and other operands that are not shares have to be the same on all
// ranks, which may be assumed (layout.h): nodes with others are on no chain.
// How many tokens there are, and whether the ranks divide them, is not looked
// at. A graph with a cycle has no chains.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::ranks {

struct ChainOptions {
  // Whether each rank may take its slice of an input or constant that is the
  // same on all ranks.
  bool slices = false;
};

// A value of which each rank may have its share along `axis`.
struct Share {
  ir::ValueId value;
  int axis = 0;
};

struct ResidualChain {
  ir::NodeId sum;                       // its first all_reduce
  std::span<const std::int64_t> group;  // an attribute, alive with the Model
  // In computation order: the collectives that bring in shares (all_reduce,
  // all_gather), and the nodes that work on shares.
  std::vector<ir::NodeId> nodes;
  std::vector<Share> shares;  // results of nodes that lie on the chain
  // Values of which each rank takes its share; several chains may have the same
  // one.
  std::vector<Share> entries;
  // Why the chain stays unchanged, and the value where it breaks; "" if it may
  // be shared out.
  std::string broken;
  ir::ValueId culprit;
  bool sliceable = false;  // the option `slices` would let the culprit pass
};

// In the order of their first sums; of the main graph only, without its
// subgraphs.
std::vector<ResidualChain> residual_chains(const ir::Graph& graph,
                                           ir::Facts& facts,
                                           const ChainOptions& options = {});

}  // namespace ruleengine::ranks
