// The ends of a residual chain: once all connected nodes are known, this
// decides which of them work on shares, where the chain ends, and whether it
// may be shared out at all. Used only by residual_chains; a pure function of
// graph and chain, linear in the chain.
#pragma once

#include <string>
#include <vector>

#include "core/ranks/residual_chains.h"

namespace ruleengine::ranks {

inline constexpr const char* kTwoTokenAxes = "its tokens lie along two axes";

// A value that is not shared out, and why.
struct ChainLeaf {
  ir::ValueId value;
  std::string reason;
  bool sliceable = false;
};

// The connected nodes as they were found: `chain` has the nodes, in computation
// order, and its entries.
struct Trace {
  ResidualChain chain;
  std::vector<Share> values;  // each once, entries and leaves among them
  std::vector<ChainLeaf> leaves;
};

// Records why the chain is broken; only the first reason is kept.
void break_chain(ResidualChain& chain, ChainLeaf culprit);

ResidualChain settled(const ir::Graph& graph, ir::Facts& facts, Trace trace);

// nullptr if the rank is not known.
const ir::Type* ranked_type(ir::Facts& facts, ir::ValueId value);

}  // namespace ruleengine::ranks
