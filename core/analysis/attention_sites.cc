#include "core/analysis/attention_sites.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/ir/model.h"

namespace ruleengine::analysis {
namespace {

using ir::NodeId;
using ir::ValueId;

// Further than any exporter goes from a product to its softmax, or back.
constexpr int kFar = 24;

// What may stand between the scores' product and the softmax: scales, masks,
// caps, and what moves axes about.
constexpr auto kBefore = std::to_array<std::string_view>(
    {"Add", "Cast", "Clip", "Concat", "Div", "Expand", "Identity", "Max", "Min",
     "Mul", "Pad", "Reshape", "Slice", "Squeeze", "Sub", "Tanh", "Transpose",
     "Unsqueeze", "Where"});
// What may stand between the softmax and the product with the values.
constexpr auto kAfter = std::to_array<std::string_view>(
    {"Cast", "Dropout", "Expand", "Identity", "Mul", "Reshape", "Slice",
     "Squeeze", "Transpose", "Unsqueeze", "Where"});

bool is_product(const ir::Op& op) {
  return op.domain.empty() && (op.type == "MatMul" || op.type == "Einsum");
}

template <class List>
bool is_one_of(const ir::Op& op, const List& list) {
  return op.domain.empty() && std::ranges::find(list, op.type) != list.end();
}

class Finder {
 public:
  Finder(const ir::Graph& graph, ir::Facts& facts)
      : graph_(graph), facts_(facts) {}

  // A product of two values that are both computed, above v.
  bool comes_from_scores(ValueId v) {
    std::set<NodeId> seen;
    std::deque<std::pair<ValueId, int>> front = {{v, 0}};
    while (!front.empty()) {
      const auto [value, far] = front.front();
      front.pop_front();
      const NodeId node = graph_.producer(value);
      if (!node || far > kFar || !seen.insert(node).second) continue;
      const ir::Op& op = graph_.op(node);
      if (is_product(op)) {
        if (is_computed(graph_.input(node, 0)) &&
            is_computed(graph_.input(node, 1))) {
          return true;
        }
      } else if (is_one_of(op, kBefore)) {
        for (const ir::Operand& in : graph_.inputs(node)) {
          if (in.value) front.emplace_back(in.value, far + 1);
        }
      }
    }
    return false;
  }

  // The product that the probabilities v go into, with values that are
  // computed; the nearest, none when they go elsewhere.
  std::optional<NodeId> weighs(ValueId v) {
    std::set<NodeId> seen;
    std::deque<std::pair<ValueId, int>> front = {{v, 0}};
    while (!front.empty()) {
      const auto [value, far] = front.front();
      front.pop_front();
      if (far > kFar) continue;
      for (auto u = graph_.first_use(value); u; u = graph_.next_use(u)) {
        const NodeId node = graph_.operand(u).user;
        if (!seen.insert(node).second) continue;
        const ir::Op& op = graph_.op(node);
        if (is_product(op)) {
          const ValueId other = graph_.input(node, 1 - graph_.operand_index(u));
          if (is_computed(other)) return node;
        } else if (is_one_of(op, kAfter)) {
          front.emplace_back(graph_.output(node), far + 1);
        }
      }
    }
    return std::nullopt;
  }

  // Fills in who needs the probabilities beside the product.
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
        } else if (!op.is("", "IsNaN") && !op.is("", "Shape") && !site.reader) {
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

  bool is_computed(ValueId v) { return v && facts_.constant(v) == nullptr; }

  const ir::Graph& graph_;
  ir::Facts& facts_;
};

}  // namespace

std::vector<AttentionSite> attention_sites(const ir::Graph& graph,
                                           ir::Facts& facts) {
  std::vector<AttentionSite> sites;
  Finder finder(graph, facts);
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId node(i);
    if (graph.node(node).removed || !graph.op(node).is("", "Softmax")) continue;
    const auto product = finder.weighs(graph.output(node));
    if (product && finder.comes_from_scores(graph.input(node, 0))) {
      sites.push_back({node, *product});
      finder.find_readers(sites.back());
    }
  }
  return sites;
}

bool is_attention(const ir::Op& op) {
  using Names = std::span<const std::string_view>;
  static constexpr std::string_view kStandard[] = {"Attention"};
  static constexpr std::string_view kAten[] = {"scaled_dot_product_attention"};
  static constexpr std::string_view kOwn[] = {
      "AttentionForward", "MultiheadAttention", "ScaledDotProductAttention",
      "ShiftedWindowAttention", "SwinAttention"};
  static constexpr std::string_view kContrib[] = {
      "Attention",           "DecoderMaskedMultiHeadAttention",
      "GroupQueryAttention", "MultiHeadAttention",
      "PackedAttention",     "PackedMultiHeadAttention",
      "PagedAttention",      "QAttention",
      "SparseAttention"};
  const Names names = op.domain.empty()              ? Names(kStandard)
                      : op.domain == "aten"          ? Names(kAten)
                      : op.domain == "ruleengine"    ? Names(kOwn)
                      : op.domain == "com.microsoft" ? Names(kContrib)
                                                     : Names();
  return std::ranges::find(names, op.type) != names.end();
}

}  // namespace ruleengine::analysis
