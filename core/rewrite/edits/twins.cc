// Twins: nodes of a graph that compute the same as an earlier one.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "core/ir/order.h"
#include "core/rewrite/edits/same.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;

// Numbers values as if all twins found so far were one node, so that their
// readers are compared in the same walk.
class TwinFinder {
 public:
  explicit TwinFinder(EditState& state)
      : state_(state), graph_(state.graph), first_(graph_.value_count()) {}

  // A first walk only compares readers of the same values, which is cheap, and
  // decides whether there are twins at all. The second walk compares all nodes,
  // since readers of twins do not share a value yet.
  std::vector<Twin> find(std::span<const NodeId> order) {
    walk(order, true);
    if (twins_.empty()) return {};
    twins_.clear();
    of_hash_.clear();
    first_.assign(first_.size(), ValueId());
    walk(order, false);
    return std::move(twins_);
  }

 private:
  void walk(std::span<const NodeId> order, bool sharing) {
    for (const NodeId node : order) {
      if (!may_have_twin(node, sharing)) continue;
      std::vector<NodeId>& alike = of_hash_[hash(node)];
      const auto first = std::ranges::find_if(
          alike, [&](NodeId other) { return computes(other, node); });
      if (first == alike.end()) {
        alike.push_back(node);
        continue;
      }
      twins_.push_back({*first, node});
      for (std::size_t i = 0; i < graph_.outputs(node).size(); ++i) {
        const ValueId v = graph_.output(node, i);
        if (v) first_[v.index()] = graph_.output(*first, i);
      }
    }
  }

  ValueId first(ValueId v) const {
    return v && first_[v.index()] ? first_[v.index()] : v;
  }

  // Whether it reads something other than small constants, since there may be
  // equal ones of those; with `sharing`: something that has another reader too.
  bool may_have_twin(NodeId node, bool sharing) const {
    bool reads = false;
    inputs_.clear();
    for (const ir::Operand& in : graph_.inputs(node)) {
      inputs_.push_back(in.value);
      if (!in.value) continue;
      const bool is_shared = graph_.value(in.value).use_count >= 2 || !sharing;
      if (is_shared && reads) continue;
      if (is_compared(written(state_, in.value))) continue;
      if (!is_shared) return false;
      reads = true;
    }
    const ir::Op& op = graph_.op(node);
    return reads && is_shareable(state_, op.domain, op.type, inputs_);
  }

  std::size_t hash(NodeId node) const {
    std::size_t all = graph_.node(node).op.index();
    for (const ir::Operand& in : graph_.inputs(node)) {
      const ir::Literal* constant = written(state_, in.value);
      const std::size_t one = is_compared(constant)
                                  ? static_cast<std::size_t>(constant->dtype)
                              : in.value ? first(in.value).index() + 1
                                         : 0;
      all = all * 1'000'003 + std::hash<std::size_t>()(one);
    }
    return all;
  }

  bool computes(NodeId a, NodeId b) const {
    if (!encloses(graph_, graph_.node(a).block, graph_.node(b).block) ||
        graph_.inputs(a).size() != graph_.inputs(b).size()) {
      return false;
    }
    for (std::size_t i = 0; i < graph_.inputs(a).size(); ++i) {
      if (!same_input(state_, first(graph_.input(a, i)),
                      first(graph_.input(b, i)))) {
        return false;
      }
    }
    const ir::Op& op = graph_.op(a);
    return graph_.node(a).op == graph_.node(b).op && gives_all(a, b) &&
           same_attributes(state_, facts_of(state_, op.domain, op.type),
                           graph_.node(a).attributes,
                           graph_.node(b).attributes);
  }

  // Whether a has every output that b has, and at most one of them is a block
  // output: merging two block outputs would need an Identity.
  bool gives_all(NodeId a, NodeId b) const {
    for (std::size_t i = 0; i < graph_.outputs(b).size(); ++i) {
      const ValueId mine = graph_.output(b, i), other = graph_.output(a, i);
      if (!mine) continue;
      if (!other || (is_block_output(mine) && is_block_output(other))) {
        return false;
      }
    }
    return true;
  }

  bool is_block_output(ValueId v) const {
    return graph_.value(v).block_output_count > 0;
  }

  EditState& state_;
  const ir::Graph& graph_;
  std::vector<ValueId> first_;  // by value, for twins
  std::unordered_map<std::size_t, std::vector<NodeId>> of_hash_;
  std::vector<Twin> twins_;
  mutable std::vector<ValueId> inputs_;  // of the current node
};

}  // namespace

Result<std::vector<Twin>> Edit::twins() const {
  const auto order = ir::topological_order(journal_->graph);
  if (!order) return order.error();
  return TwinFinder(*journal_).find(*order);
}

}  // namespace ruleengine::rewrite
