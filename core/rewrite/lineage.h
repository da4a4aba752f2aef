// Lineage: which rewrite made which node out of which, to find rules that feed
// themselves. The generation of a new node is one more than the least of the
// nodes that went for it. Rewrites that use up what the file held keep it low
// however many they are; only one that lives off its own results makes it grow
// without bound. One per graph; borrows the graph; not thread-safe.
#ifndef RULEENGINE_CORE_REWRITE_LINEAGE_H_
#define RULEENGINE_CORE_REWRITE_LINEAGE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::rewrite {

class Lineage {
 public:
  explicit Lineage(const ir::Graph& graph) : graph_(graph) {}

  struct Step {
    std::uint32_t rule = 0;
    ir::NodeId root;
    std::span<const ir::NodeId> consumed, added, removed;
  };
  // Rules that turn in a circle, in their order, and where it began.
  struct Circle {
    std::vector<std::uint32_t> rules;
    ir::NodeId origin;
  };
  // Notes a rewrite that was kept; a circle when it has gone on for too long.
  std::optional<Circle> note(const Step& step);

 private:
  struct Made {
    std::uint32_t rule = 0;
    std::uint32_t generation = 0;  // 0: not made by a rewrite
    ir::NodeId parent;
  };
  // Rewrites at one root that stayed in the graph.
  struct Again {
    std::uint32_t count = 0;
    std::vector<std::uint32_t> rules;
  };

  std::uint32_t generation(ir::NodeId node) const;
  ir::NodeId parent_of(const Step& step) const;
  Circle circle_from(ir::NodeId node) const;

  const ir::Graph& graph_;
  std::vector<Made> made_;
  std::unordered_map<ir::NodeId, Again> again_;
};

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_LINEAGE_H_
