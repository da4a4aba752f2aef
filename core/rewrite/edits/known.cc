// Values of a graph that are computed although they are known.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::Literal;
using ir::NodeId;
using ir::ValueId;

// The bytes that a constant may have beyond those that it is computed from: a
// mask or a table that ops expand is stored as it is.
constexpr std::int64_t kMostAdded = 1 << 20;

class KnownValues {
 public:
  explicit KnownValues(const EditState& state)
      : graph_(state.graph), facts_(state.facts) {}

  std::vector<ValueId> find() {
    std::vector<ValueId> out;
    for (const NodeId node : graph_.live_nodes()) {
      if (gives_constant(node)) continue;
      for (ValueId v : graph_.outputs(node)) {
        if (!v || !facts_.is_constant(v) || !is_wanted(v)) continue;
        const Literal* constant = facts_.constant(v);
        if (constant != nullptr && !swells(v, *constant)) out.push_back(v);
      }
    }
    return out;
  }

 private:
  // A Constant, or an Identity that gives a constant the name of an output.
  bool gives_constant(NodeId node) const {
    if (graph_.op(node).standard("Constant")) return true;
    if (!graph_.op(node).standard("Identity")) return false;
    const NodeId from = graph_.producer(graph_.input(node, 0));
    return !from || graph_.op(from).standard("Constant");
  }

  bool is_known(NodeId node) const {
    return std::ranges::all_of(graph_.outputs(node), [&](ValueId v) {
      return !v || facts_.is_constant(v);
    });
  }

  // Whether something reads it that is not known itself.
  bool is_wanted(ValueId v) const {
    if (graph_.value(v).block_output_count > 0) return true;
    ir::OperandId u = graph_.first_use(v);
    while (u && is_known(graph_.operand(u).user)) u = graph_.next_use(u);
    return bool(u);
  }

  // Whether the constant is much larger than all that it is computed from.
  bool swells(ValueId v, const Literal& constant) const {
    std::int64_t left = constant.byte_size() - kMostAdded;
    std::vector<ValueId> next = {v};
    std::unordered_set<ValueId> seen = {v};
    while (left > 0 && !next.empty()) {
      const ValueId at = next.back();
      next.pop_back();
      const NodeId from = graph_.producer(at);
      if (!from || graph_.op(from).standard("Constant")) {
        const Literal* stored = facts_.constant(at);
        if (stored != nullptr) left -= stored->byte_size();
        continue;
      }
      for (const ir::Operand& o : graph_.inputs(from)) {
        if (o.value && facts_.is_constant(o.value) &&
            seen.insert(o.value).second) {
          next.push_back(o.value);
        }
      }
    }
    return left > 0;
  }

  const ir::Graph& graph_;
  ir::Facts& facts_;
};

}  // namespace

std::vector<ValueId> Edit::known_values() const {
  return KnownValues(*journal_).find();
}

ValueId Edit::known(ValueId value) {
  const Literal* tensor = journal_->facts.constant(value);
  if (tensor == nullptr) return {};
  return constant(tensor, journal_->graph.name(value));
}

}  // namespace ruleengine::rewrite
