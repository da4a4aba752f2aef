// The ends of a residual chain: once everything that hangs together is known,
// what of it works on shares, where it is left, and whether it may be. Internal
// to residual_chains; linear in the chain.
#ifndef RULEENGINE_CORE_ANALYSIS_CHAIN_ENDS_H_
#define RULEENGINE_CORE_ANALYSIS_CHAIN_ENDS_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/residual_chains.h"

namespace ruleengine::analysis {

inline constexpr const char* kTwoTokenAxes = "its tokens lie along two axes";

// What is known of each value and node of one graph, whose chains share none.
struct ChainMarks {
  static constexpr int kNoShare = -1;

  ChainMarks(const ir::Graph& of, ir::Facts& known);

  // nullptr where the rank is not known.
  const ir::Type* tensor(ir::ValueId value) const;

  const ir::Graph& graph;
  ir::Facts& facts;
  std::vector<int> axis;     // by value: of the tokens
  std::vector<bool> inside;  // by node: works on shares
  std::vector<bool> normed;  // by value: a norm made it
  std::vector<bool> leads;   // by value: a norm comes of it
};

// A value on the chain that there is no share of, and why.
struct ChainLeaf {
  ir::ValueId value;
  std::string reason;
};

// The first reason stays.
void break_chain(ResidualChain& chain, ir::ValueId culprit, std::string reason);

// `chain.nodes` are in computation order; fills in the rest.
void settle_chain(ChainMarks& marks, std::span<const ChainLeaf> leaves,
                  ResidualChain& chain);

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_CHAIN_ENDS_H_
