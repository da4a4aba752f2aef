// Region: what one edit does, before it is kept. Old and new nodes are both in
// the graph then, so the values that the edit replaces and those that replace
// them can be computed side by side. Lives as long as the edit.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/rewrite/edit.h"
#include "core/rewrite/rule.h"

namespace ruleengine::rewrite {

struct Region {
  // A value and the one that replaces it.
  struct Result {
    ir::ValueId before, after;
  };
  enum class Side : std::uint8_t { kBefore, kAfter };

  // What the node reads: before the edit, or after it.
  ir::ValueId input(ir::NodeId node, std::size_t i, Side side) const;
  // Likewise what a body gives.
  std::vector<ir::ValueId> outputs(ir::BlockId body, Side side) const;
  // Whether the node is in the graph on this side.
  bool has(ir::NodeId node, Side side) const;
  bool is_new(ir::NodeId node) const { return node.index() >= first_node; }

  const ir::Graph& graph;
  ir::Facts& facts;
  std::vector<Result> results;    // each once
  std::vector<ir::NodeId> nodes;  // matched, looked at or removed; ascending
  std::size_t first_node = 0;     // newer ones are the edit's
  std::unordered_map<ir::OperandId, ir::ValueId> taken;  // what slots read
  std::map<std::pair<ir::BlockId, std::uint32_t>, ir::ValueId> given;
  bool assumes = false;  // the edit rests on an assumption about values
};

// Says why an edit of the rule is not right, or nothing.
using Judge =
    std::function<std::optional<std::string>(const Rule&, const Region&)>;

struct EditState;
Region region_of(const EditState& state);

}  // namespace ruleengine::rewrite
