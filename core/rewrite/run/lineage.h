// Lineage: which rewrite made which node from which, to find rules that would
// never end. The generation of a new node is one more than the lowest of the
// nodes that were removed for it; or, if none was removed, one more than the
// highest of the nodes that the edit touched. However many rewrites consume
// nodes of the file, generations stay low; they only grow if rewrites feed on
// their own results. Then either the same state occurs again and again, which
// proves a loop, or the graph does not shrink for longer than the limit. One
// per graph; borrows the graph; not thread-safe. docs/decisions/0004 gives the
// reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"
#include "core/rewrite/run/fingerprint.h"

namespace ruleengine::rewrite {

class Lineage {
 public:
  explicit Lineage(const ir::Graph& graph);

  struct Step {
    std::uint32_t rule = 0;
    ir::NodeId root;  // invalid for a `pass`
    std::span<const ir::NodeId> consumed, added, removed, touched;
  };
  using Rules = std::vector<std::uint32_t>;
  // The rules of a loop, in their order, and the node where it began.
  struct RuleLoop {
    Rules rules;
    ir::NodeId origin;     // may be invalid
    bool repeats = false;  // false: the limit was reached
  };
  // Notes a kept rewrite; returns a loop if there is one.
  std::optional<RuleLoop> note(const Step& step);

 private:
  // A rewrite, with what distinguishes it from others.
  struct Mark {
    std::uint32_t rule = 0;
    std::size_t live = 0;
    Fingerprint print = 0;  // 0: not needed yet
  };
  struct Made {
    std::uint32_t generation = 0;  // 0: not made by a rewrite
    ir::NodeId parent;
    std::uint64_t at = 0;  // the rewrite that made it
    Mark mark;
  };
  // Rewrites at one root that is still in the graph.
  struct Again {
    std::uint64_t count = 0;
    Patience patience;
    std::vector<Mark> latest;
  };

  static std::optional<Rules> repeated(const std::vector<Mark>& marks);
  static Rules turning(const std::vector<Mark>& marks);
  static Rules rules_of(const std::vector<Mark>& marks, std::size_t count);
  std::uint32_t generation(ir::NodeId node) const;
  ir::NodeId parent_of(const Step& step) const;
  bool is_young(ir::NodeId node, std::uint32_t generation) const;
  Fingerprint print_of(const Step& step, std::uint32_t generation) const;
  std::optional<RuleLoop> note_added(const Step& step);
  std::optional<RuleLoop> note_again(const Step& step);
  std::vector<Mark> ancestors(ir::NodeId node) const;
  ir::NodeId origin_of(ir::NodeId node) const;

  const ir::Graph& graph_;
  std::uint64_t patience_;
  std::uint64_t steps_ = 0;
  std::vector<Made> made_;
  std::unordered_map<ir::NodeId, Again> again_;
};

}  // namespace ruleengine::rewrite
