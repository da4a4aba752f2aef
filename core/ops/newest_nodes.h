// NewestNodes: the nodes of a graph as the newest opset has them, which is how
// patterns see them: older nodes are read through Upgrades, and absent
// attributes are at the schema's default. It keeps upgraded forms until
// forget(), which must be called after every edit of the graph; not
// thread-safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/ops/op_facts.h"
#include "core/ops/upgrade.h"

namespace ruleengine::ops {

class NewestNodes {
 public:
  NewestNodes(ir::Graph& graph, ir::Facts& facts);

  ir::Graph& graph() const { return graph_; }
  ir::Facts& facts() const { return facts_; }
  void forget() { forms_.clear(); }

  // True when the node's inputs may be at other slots than in the graph.
  bool upgraded(ir::OpId op) const { return upgrades_.needed(op); }
  // False for an old node that the newest opset cannot express, and for a node
  // of a function's body with an attribute that callers set: no pattern matches
  // those.
  bool readable(ir::NodeId node);

  std::size_t input_count(ir::NodeId node);
  ir::ValueId input(ir::NodeId node, std::size_t i);
  // The written attribute, or its default, which may depend on the rank of the
  // first input; nullptr when there is neither.
  const ir::Attribute* attribute(ir::NodeId node, std::string_view name);
  // Whether an axis, or a list of axes, that is written as `found` is the
  // attribute `wanted`, counted from the front or from the back.
  bool same_axis(ir::NodeId node, const ir::Attribute& wanted,
                 const ir::Attribute* found);
  // The same for a constant at an input that takes axes.
  bool same_axes(ir::NodeId node, std::size_t slot, ir::ValueId value,
                 std::span<const double> wanted, bool scalar);
  // The attributes that are written, without defaults.
  std::span<const ir::Attribute> written(ir::NodeId node);
  // Whether a written attribute equals its default.
  bool is_default(ir::NodeId node, const ir::Attribute& attribute);
  // Whether another value than the default only permits more results.
  bool permits(ir::NodeId node, const ir::Attribute& attribute);
  // Whether a closed pattern that does not name the attribute fits.
  bool may_be_unnamed(ir::NodeId node, const ir::Attribute& attribute) {
    return permits(node, attribute) || is_default(node, attribute);
  }
  // The attribute at a place that is valid as long as the model.
  const ir::Attribute* keep(const ir::Attribute* attribute);

 private:
  const NewestForm* form(ir::NodeId node);
  const OpFacts* op_facts(ir::OpId op);
  // From the front, sorted where the order says nothing. None: no such axis.
  std::optional<std::vector<std::int64_t>> from_front(
      ir::NodeId node, std::vector<std::int64_t> axes);
  const ir::Attribute* default_of(ir::NodeId node, std::string_view name);

  ir::Graph& graph_;
  ir::Facts& facts_;
  Upgrades upgrades_;
  bool in_function_;
  std::unordered_map<ir::NodeId, NewestForm> forms_;
  struct KnownOp {
    bool looked = false;
    const OpFacts* facts = nullptr;
  };
  ir::ByOp<KnownOp> ops_;
  // By the formal and, where it matters, the rank of the first input.
  std::map<std::pair<const FormalAttribute*, std::size_t>, const ir::Attribute*>
      defaults_;
};

}  // namespace ruleengine::ops
