// NodeView: the one place where the matcher reads inputs and attributes of
// nodes. What it shows is the newest opset's form: older nodes through
// ir::Upgrades, attributes that are not written at the schema's default. Types
// and constants come from the same place for both matchers. A view keeps
// upgraded forms until forget(), which is due after every edit of the graph;
// not thread-safe.
#ifndef RULEENGINE_CORE_MATCH_NAIVE_NODE_VIEW_H_
#define RULEENGINE_CORE_MATCH_NAIVE_NODE_VIEW_H_

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/ir/op_facts.h"
#include "core/ir/upgrade.h"
#include "core/match/match.h"
#include "core/pattern/pattern.h"

namespace ruleengine::match {

class NodeView {
 public:
  NodeView(ir::Graph& graph, ir::Facts& facts);

  ir::Graph& graph() const { return graph_; }
  ir::Facts& facts() const { return facts_; }
  void forget() { forms_.clear(); }

  // True when the node's inputs may stand elsewhere than the graph says.
  bool upgraded(ir::OpId op) const { return upgrades_.needed(op); }
  // False for an old node that the newest opset cannot say, and for one of a
  // function's body whose callers give an attribute: they fit nothing.
  bool readable(ir::NodeId node);

  std::size_t input_count(ir::NodeId node);
  ir::ValueId input(ir::NodeId node, std::size_t i);
  // As written, or the default, which may depend on the rank of the first
  // input; nullptr when there is neither.
  const ir::Attribute* attribute(ir::NodeId node, std::string_view name);
  // Whether an axis, or a list of them, that stands as `found` is what is
  // wanted, however each is counted: from the front or from the back.
  bool same_axis(ir::NodeId node, const pattern::AttributePattern& wanted,
                 const ir::Attribute* found);
  // The same for a constant that stands at an input, where that takes axes.
  bool same_axes(ir::NodeId node, std::size_t slot, ir::ValueId value,
                 std::span<const double> wanted, bool scalar);
  // The attributes that stand there, without defaults.
  std::span<const ir::Attribute> written(ir::NodeId node);
  // Whether an attribute that stands there says no more than its default.
  bool is_default(ir::NodeId node, const ir::Attribute& attribute);
  // What stands there, not at its default, and is named by no pattern.
  void collect_unnamed(const pattern::Pattern& pattern,
                       pattern::NodePatternId by, ir::NodeId node,
                       std::vector<Unnamed>& out);
  // A pointer that lives as long as the model.
  const ir::Attribute* keep(const ir::Attribute* attribute);

 private:
  const ir::NewestForm* form(ir::NodeId node);
  const ir::OpFacts* op_facts(ir::OpId op);
  // From the front, sorted where the order says nothing. None: no such axis.
  std::optional<std::vector<std::int64_t>> from_front(
      ir::NodeId node, std::vector<std::int64_t> axes);
  const ir::Attribute* default_of(ir::NodeId node, std::string_view name);

  ir::Graph& graph_;
  ir::Facts& facts_;
  ir::Upgrades upgrades_;
  bool in_function_;
  std::unordered_map<ir::NodeId, ir::NewestForm> forms_;
  struct KnownOp {
    bool looked = false;
    const ir::OpFacts* facts = nullptr;
  };
  ir::ByOp<KnownOp> ops_;
  // By the formal and, where it counts, the rank of the first input.
  std::map<std::pair<const ir::FormalAttribute*, std::size_t>,
           const ir::Attribute*>
      defaults_;
};

// By node and name, each once.
void sort_unnamed(std::vector<Unnamed>& all);

}  // namespace ruleengine::match

#endif  // RULEENGINE_CORE_MATCH_NAIVE_NODE_VIEW_H_
