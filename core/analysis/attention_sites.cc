#include "core/analysis/attention_sites.h"

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <utility>

#include "core/analysis/quantized.h"
#include "core/ir/model.h"
#include "core/ir/order.h"
#include "core/ops/dialect.h"
#include "core/ops/op_row.h"

namespace ruleengine::analysis {
namespace {

using ir::NodeId;
using ir::ValueId;

// More nodes than any exporter writes between a product and its softmax, or
// back.
constexpr int kFar = 24;

using ops::dialect::kMicrosoft;

// Whether the op keeps of each element what a weighted sum needs: it scales,
// adds, selects, moves or quantizes.
bool may_be_after(const ir::Op& op) {
  const ops::Roles roles = ops::roles_of(op);
  return roles.linear || roles.moves || roles.joins || roles.bounds ||
         is_quantizer(op) || op.standard("DynamicQuantizeLinear");
}

// Whether the op may be between the product for the scores and the softmax:
// scales, masks, caps, quantization, and ops that move axes.
bool may_be_before(const ir::Op& op) {
  return may_be_after(op) ||
         ops::op_family(op.domain, op.type) == ops::OpFamily::kElementwise;
}

// Whether the op reads probabilities and does not count as another reader:
// guards, sizes, and the sum for the normalization.
bool only_asks(const ir::Op& op) {
  return op.standard("IsNaN") || op.standard("ReduceSum") ||
         ops::roles_of(op).measures;
}

// The factors of a product of two matrices; not `known` for another op.
ops::Factors factors_of(const ir::Op& op) {
  const ops::OpRow* row = ops::find_row(op);
  return row == nullptr ? ops::Factors() : row->factors;
}

// A walk over nodes, nearest first, each once, up to a maximal distance.
class Walk {
 public:
  explicit Walk(ValueId start) { add(start, 0); }

  // The next `value`; false at the end.
  bool next(ValueId& value) {
    if (front_.empty()) return false;
    std::tie(value, far_) = front_.front();
    front_.pop_front();
    return true;
  }
  // Whether this node is new and near enough to continue from.
  bool enters(NodeId node) { return far_ <= kFar && seen_.insert(node).second; }
  void go_on(ValueId value) { add(value, far_ + 1); }

 private:
  void add(ValueId value, int far) {
    if (value) front_.emplace_back(value, far);
  }

  std::set<NodeId> seen_;
  std::deque<std::pair<ValueId, int>> front_;
  int far_ = 0;
};

class Finder {
 public:
  Finder(const ir::Graph& graph, ir::Facts& facts)
      : graph_(graph), facts_(facts) {
    find_computed();
  }

  // The scores, if this node computes a softmax of them in any form.
  ValueId scores_of(NodeId node) const {
    const ir::Op& op = graph_.op(node);
    if (op.standard("Softmax") || op.is(kMicrosoft, "QLinearSoftmax") ||
        op.is(kMicrosoft, "BiasSoftmax")) {
      return graph_.input(node, 0);
    }
    if (op.standard("Exp")) return of_log_softmax(node);
    if (op.standard("Div")) return of_quotient(node);
    return {};
  }

  // The product of two computed values that v is computed from, if any.
  std::optional<NodeId> product_above(ValueId start) const {
    Walk walk(start);
    for (ValueId v; walk.next(v);) {
      const NodeId node = graph_.producer(v);
      if (!node || !walk.enters(node)) continue;
      const ir::Op& op = graph_.op(node);
      if (factors_of(op).known) {
        if (multiplies_computed(node)) return node;
      } else if (may_be_before(op)) {
        for (const ir::Operand& in : graph_.inputs(node)) walk.go_on(in.value);
      }
    }
    return std::nullopt;
  }

  // The nearest product of the probabilities v with computed values; none if
  // they are used differently.
  std::optional<NodeId> weighs(ValueId start) const {
    Walk walk(start);
    for (ValueId v; walk.next(v);) {
      for (auto u = graph_.first_use(v); u; u = graph_.next_use(u)) {
        const NodeId node = graph_.operand(u).user;
        if (!node || !walk.enters(node)) continue;
        const ir::Op& op = graph_.op(node);
        if (factors_of(op).known) {
          if (multiplies_computed(node)) return node;
        } else if (op.standard("Split")) {
          for (const ValueId part : graph_.outputs(node)) walk.go_on(part);
        } else if (may_be_after(op)) {
          walk.go_on(graph_.output(node));
        }
      }
    }
    return std::nullopt;
  }

  // Whether a runtime computes this product in integers: by its op, or because
  // both factors come from a DequantizeLinear.
  bool is_quantized(NodeId node) const {
    const ops::Factors product = factors_of(graph_.op(node));
    return product.integers ||
           (dequantizer(graph_, graph_.input(node, product.left)) &&
            dequantizer(graph_, graph_.input(node, product.right)));
  }

  // Finds a reader of the probabilities besides the product.
  void find_readers(AttentionSite& site) {
    std::set<NodeId> seen = {site.product};
    std::deque<ValueId> front = {graph_.output(site.softmax)};
    for (; !front.empty(); front.pop_front()) {
      site.is_output |= is_block_output(front.front());
      for (auto u = graph_.first_use(front.front()); u;
           u = graph_.next_use(u)) {
        const NodeId node = graph_.operand(u).user;
        if (!node || !seen.insert(node).second) continue;
        const ir::Op& op = graph_.op(node);
        if (may_be_after(op)) {
          front.push_back(graph_.output(node));
        } else if (!only_asks(op) && !site.reader) {
          site.reader = node;
        }
      }
    }
  }

 private:
  bool is_block_output(ValueId v) const {
    const auto outputs = graph_.block(ir::Graph::main_block()).outputs;
    return std::ranges::find(outputs, v) != outputs.end();
  }

  // exp(log_softmax(scores)).
  ValueId of_log_softmax(NodeId exp) const {
    const NodeId log = graph_.producer(graph_.input(exp, 0));
    const bool is_log = log && graph_.op(log).standard("LogSoftmax");
    return is_log ? graph_.input(log, 0) : ValueId();
  }

  // exp(scores) / sum(exp(scores)); the sum may be modified.
  ValueId of_quotient(NodeId div) const {
    const ValueId weights = graph_.input(div, 0);
    const NodeId exp = graph_.producer(weights);
    if (!exp || !graph_.op(exp).standard("Exp")) return {};
    Walk walk(graph_.input(div, 1));
    for (ValueId v; walk.next(v);) {
      const NodeId node = graph_.producer(v);
      if (!node || !walk.enters(node)) continue;
      if (graph_.op(node).standard("ReduceSum")) {
        if (graph_.input(node, 0) == weights) return graph_.input(exp, 0);
      } else if (may_be_after(graph_.op(node))) {
        for (const ir::Operand& in : graph_.inputs(node)) walk.go_on(in.value);
      }
    }
    return {};
  }

  bool multiplies_computed(NodeId node) const {
    const ops::Factors product = factors_of(graph_.op(node));
    return is_computed(graph_.input(node, product.left)) &&
           is_computed(graph_.input(node, product.right));
  }

  bool is_computed(ValueId v) const { return v && computed_[v.index()]; }

  // Finds values that do not depend on constants alone. Unknown ops count too,
  // and so do constants that are too large to fold.
  void find_computed() {
    computed_.assign(graph_.value_count(), true);
    for (std::size_t i = 0; i < computed_.size(); ++i) {
      const ValueId v(i);
      if (!graph_.producer(v)) computed_[i] = !facts_.is_constant(v);
    }
    const auto order = ir::topological_order(graph_);
    if (!order) return;  // with a cycle everything counts as computed
    for (const NodeId node : *order) {
      const auto inputs = graph_.inputs(node);
      const bool computed = std::ranges::any_of(
          inputs, [&](const ir::Operand& in) { return is_computed(in.value); });
      for (const ValueId v : graph_.outputs(node)) {
        if (v) computed_[v.index()] = computed;
      }
    }
  }

  const ir::Graph& graph_;
  ir::Facts& facts_;
  std::vector<bool> computed_;  // by value
};

}  // namespace

std::vector<AttentionSite> attention_sites(const ir::Graph& graph,
                                           ir::Facts& facts) {
  std::vector<AttentionSite> sites;
  Finder finder(graph, facts);
  for (const NodeId node : graph.live_nodes()) {
    const ValueId scores = finder.scores_of(node);
    if (!scores) continue;
    const auto product = finder.weighs(graph.output(node));
    const auto of_scores = finder.product_above(scores);
    if (!product || !of_scores) continue;
    sites.push_back({node, *product});
    sites.back().quantized = finder.is_quantized(*product) ||
                             finder.is_quantized(*of_scores) ||
                             graph.op(node).type == "QLinearSoftmax";
    finder.find_readers(sites.back());
  }
  return sites;
}

}  // namespace ruleengine::analysis
