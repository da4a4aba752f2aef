// The ends of a residual chain: once everything that hangs together is known,
// what of it works on shares, where it is left, and whether it may be. Internal
// to residual_chains; a pure function of graph and chain, linear in the chain.
#ifndef RULEENGINE_CORE_RANKS_CHAIN_ENDS_H_
#define RULEENGINE_CORE_RANKS_CHAIN_ENDS_H_

#include <string>
#include <vector>

#include "core/ranks/residual_chains.h"

namespace ruleengine::ranks {

inline constexpr const char* kTwoTokenAxes = "its tokens lie along two axes";

// A value that there is no share of, and why.
struct ChainLeaf {
  ir::ValueId value;
  std::string reason;
};

// What hangs together, as it was found: `chain` has its nodes, in computation
// order, and its entries.
struct Trace {
  ResidualChain chain;
  std::vector<Share> values;  // each once, entries and leaves among them
  std::vector<ChainLeaf> leaves;
};

// The first reason stays.
void break_chain(ResidualChain& chain, ir::ValueId culprit, std::string reason);

ResidualChain settled(const ir::Graph& graph, ir::Facts& facts, Trace trace);

// nullptr where the rank is not known.
const ir::Type* ranked_type(ir::Facts& facts, ir::ValueId value);

}  // namespace ruleengine::ranks

#endif  // RULEENGINE_CORE_RANKS_CHAIN_ENDS_H_
