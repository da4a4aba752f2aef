// Machine: runs a Program over one Graph. Holds the registers, the trail and
// the program's ops resolved in the graph's model; asks Facts for types and
// constants only where a rule tests them. One machine, one thread; the graph
// may be edited between calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/match/match.h"
#include "core/match/program.h"

namespace ruleengine::match {

// Which rules may match; indexed by rule. Empty: all.
using RuleMask = std::vector<bool>;

class KnownOps;  // core/match/known_ops.h

class Machine {
 public:
  // `known` belongs to this program and this model; machines over its graphs
  // share it.
  Machine(const Program& program, ir::Graph& graph, ir::Facts& facts,
          std::shared_ptr<KnownOps> known = nullptr);
  ~Machine();

  // The first fit of every rule whose first result is produced by `root`,
  // ascending by rule. The search is bounded: if a rule needs more choices than
  // the limit at this root, it has no match and exhausted() is set.
  void run(ir::NodeId root, const RuleMask& mask, std::vector<Match>& out);

  // False when run() cannot give anything for this node's op.
  bool may_match(ir::NodeId root) const;

  // The first rule (index) and root whose search was cut off, if any.
  struct Exhausted {
    std::uint32_t rule;
    ir::NodeId root;
  };
  std::optional<Exhausted> exhausted() const;
  // The limit on choices for one rule at one root.
  static constexpr std::uint32_t kMostChoices = 1'000'000;
  void set_limit(std::uint32_t choices);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How far `rule` gets at `root`: a Match when it fits, else the deepest Miss.
// Slow: runs the oracle with a recorder.
struct Attempt {
  std::optional<Match> match;
  std::optional<Miss> miss;
};
Attempt explain(const pattern::Pattern& pattern, ir::Graph& graph,
                ir::Facts& facts, ir::NodeId root);

// The simple matcher: the meaning in pattern.h, as code. Slow.
std::optional<Match> naive_match(const pattern::Pattern& pattern,
                                 ir::Graph& graph, ir::Facts& facts,
                                 ir::NodeId root);

}  // namespace ruleengine::match
