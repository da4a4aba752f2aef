// Lineage: which rewrite made which node out of which, to find rules that go on
// for ever. The generation of a new node is one more than the least of the
// nodes that went for it, or, where none went, than the greatest that the edit
// touched. Rewrites that use up what the file held keep it low however many
// they are; only what lives off its own results makes it grow, and then either
// one state comes again and again (which is proof), or the graph does not
// shrink for longer than anybody waits. One per graph; borrows the graph; not
// thread-safe. docs/decisions/0004 says why.
#ifndef RULEENGINE_CORE_REWRITE_RUN_LINEAGE_H_
#define RULEENGINE_CORE_REWRITE_RUN_LINEAGE_H_

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
    ir::NodeId root;  // none of a `pass`
    std::span<const ir::NodeId> consumed, added, removed, touched;
  };
  using Rules = std::vector<std::uint32_t>;
  // Rules that turn in a circle, in their order, and where it began.
  struct Circle {
    Rules rules;
    ir::NodeId origin;     // may be invalid
    bool repeats = false;  // else the patience was over
  };
  // Notes a rewrite that was kept; a circle when it has gone on for too long.
  std::optional<Circle> note(const Step& step);

 private:
  // A rewrite, as far as it can be told from another.
  struct Mark {
    std::uint32_t rule = 0;
    std::size_t live = 0;
    Fingerprint print = 0;  // 0 where nobody needs it yet
  };
  struct Made {
    std::uint32_t generation = 0;  // 0: not made by a rewrite
    ir::NodeId parent;
    std::uint64_t at = 0;  // the step that made it
    Mark mark;
  };
  // Rewrites at one root that stayed in the graph.
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
  std::optional<Circle> note_added(const Step& step);
  std::optional<Circle> note_again(const Step& step);
  std::vector<Mark> ancestors(ir::NodeId node) const;
  ir::NodeId origin_of(ir::NodeId node) const;

  const ir::Graph& graph_;
  std::uint64_t patience_;
  std::uint64_t steps_ = 0;
  std::vector<Made> made_;
  std::unordered_map<ir::NodeId, Again> again_;
};

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_RUN_LINEAGE_H_
