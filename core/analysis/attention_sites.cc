#include "core/analysis/attention_sites.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

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

constexpr std::string_view kStandard;
using ir::dialect::kMicrosoft;

struct Name {
  std::string_view domain, type;
};

// Ops that may be between the product for the scores and the softmax: scales,
// masks, caps, quantization, and ops that move axes.
constexpr Name kBefore[] = {{kStandard, "Abs"},
                            {kStandard, "Add"},
                            {kStandard, "Cast"},
                            {kStandard, "Clip"},
                            {kStandard, "Concat"},
                            {kStandard, "DequantizeLinear"},
                            {kStandard, "Div"},
                            {kStandard, "Exp"},
                            {kStandard, "Expand"},
                            {kStandard, "Flatten"},
                            {kStandard, "Gather"},
                            {kStandard, "GatherElements"},
                            {kStandard, "Identity"},
                            {kStandard, "LeakyRelu"},
                            {kStandard, "Log"},
                            {kStandard, "Max"},
                            {kStandard, "Min"},
                            {kStandard, "Mul"},
                            {kStandard, "Pad"},
                            {kStandard, "QuantizeLinear"},
                            {kStandard, "Relu"},
                            {kStandard, "Reshape"},
                            {kStandard, "ScatterND"},
                            {kStandard, "Slice"},
                            {kStandard, "Split"},
                            {kStandard, "Sqrt"},
                            {kStandard, "Squeeze"},
                            {kStandard, "Sub"},
                            {kStandard, "Sum"},
                            {kStandard, "Tanh"},
                            {kStandard, "Tile"},
                            {kStandard, "Transpose"},
                            {kStandard, "Unsqueeze"},
                            {kStandard, "Where"},
                            {kMicrosoft, "DequantizeLinear"},
                            {kMicrosoft, "QLinearAdd"},
                            {kMicrosoft, "QLinearMul"},
                            {kMicrosoft, "QLinearWhere"},
                            {kMicrosoft, "QuantizeLinear"}};
// Ops that may be between the softmax and the product with the values.
constexpr Name kAfter[] = {{kStandard, "Add"},
                           {kStandard, "Cast"},
                           {kStandard, "Clip"},
                           {kStandard, "Concat"},
                           {kStandard, "DequantizeLinear"},
                           {kStandard, "Div"},
                           {kStandard, "Dropout"},
                           {kStandard, "DynamicQuantizeLinear"},
                           {kStandard, "Expand"},
                           {kStandard, "Flatten"},
                           {kStandard, "Identity"},
                           {kStandard, "Max"},
                           {kStandard, "Min"},
                           {kStandard, "Mul"},
                           {kStandard, "Pad"},
                           {kStandard, "QuantizeLinear"},
                           {kStandard, "Reshape"},
                           {kStandard, "Slice"},
                           {kStandard, "Squeeze"},
                           {kStandard, "Transpose"},
                           {kStandard, "Unsqueeze"},
                           {kStandard, "Where"},
                           {kMicrosoft, "DequantizeLinear"},
                           {kMicrosoft, "QLinearWhere"},
                           {kMicrosoft, "QuantizeLinear"}};
// Ops that read the probabilities and do not count as another reader: guards,
// sizes, and the sum for the normalization.
constexpr Name kAskingOps[] = {
    {kStandard, "IsNaN"}, {kStandard, "ReduceSum"}, {kStandard, "Shape"}};

// A product of two matrices and the slots of its factors.
struct Product {
  Name name;
  std::uint32_t left = 0, right = 1;
  bool quantized = false;
};
constexpr Product kProducts[] = {
    {{kStandard, "Einsum"}},
    {{kStandard, "Gemm"}},
    {{kStandard, "MatMul"}},
    {{kStandard, "MatMulInteger"}, 0, 1, true},
    {{kStandard, "QLinearMatMul"}, 0, 3, true},
    {{kMicrosoft, "DynamicQuantizeMatMul"}, 0, 1, true},
    {{kMicrosoft, "FusedGemm"}},
    {{kMicrosoft, "FusedMatMul"}},
    {{kMicrosoft, "FusedMatMulActivation"}},
    {{kMicrosoft, "MatMulIntegerToFloat"}, 0, 1, true},
    {{kMicrosoft, "QGemm"}, 0, 3, true},
    {{kMicrosoft, "TransposeMatMul"}}};

bool names(const Name& name, const ir::Op& op) {
  return op.is(name.domain, name.type);
}

bool is_one_of(const ir::Op& op, std::span<const Name> list) {
  return std::ranges::any_of(list, [&](const Name& n) { return names(n, op); });
}

const Product* product_of(const ir::Op& op) {
  const auto found = std::ranges::find_if(
      kProducts, [&](const Product& p) { return names(p.name, op); });
  return found == std::end(kProducts) ? nullptr : &*found;
}

constexpr Name kViews[] = {{kStandard, "Flatten"},   {kStandard, "Identity"},
                           {kStandard, "Reshape"},   {kStandard, "Squeeze"},
                           {kStandard, "Transpose"}, {kStandard, "Unsqueeze"}};

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
  // spelling.
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
      if (product_of(op) != nullptr) {
        if (multiplies_computed(node)) return node;
      } else if (is_one_of(op, kBefore)) {
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
        if (product_of(op) != nullptr) {
          if (multiplies_computed(node)) return node;
        } else if (op.standard("Split")) {
          for (const ValueId part : graph_.outputs(node)) walk.go_on(part);
        } else if (is_one_of(op, kAfter)) {
          walk.go_on(graph_.output(node));
        }
      }
    }
    return std::nullopt;
  }

  // Whether a runtime computes this product in integers: by its op, or because
  // both factors come from a DequantizeLinear.
  bool is_quantized(NodeId node) const {
    const Product& product = *product_of(graph_.op(node));
    return product.quantized ||
           (is_dequantized(graph_.input(node, product.left)) &&
            is_dequantized(graph_.input(node, product.right)));
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
        if (is_one_of(op, kAfter)) {
          front.push_back(graph_.output(node));
        } else if (!is_one_of(op, kAskingOps) && !site.reader) {
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
      } else if (is_one_of(graph_.op(node), kAfter)) {
        for (const ir::Operand& in : graph_.inputs(node)) walk.go_on(in.value);
      }
    }
    return {};
  }

  bool is_dequantized(ValueId v) const {
    NodeId node = graph_.producer(v);
    while (node && is_one_of(graph_.op(node), kViews)) {
      node = graph_.producer(graph_.input(node, 0));
    }
    return node && graph_.op(node).type == "DequantizeLinear";
  }

  bool multiplies_computed(NodeId node) const {
    const Product& product = *product_of(graph_.op(node));
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
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId node(i);
    if (graph.node(node).removed) continue;
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

bool is_attention(const ir::Op& op) { return ops::roles_of(op).attention; }

}  // namespace ruleengine::analysis
