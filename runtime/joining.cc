#include "runtime/joining.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/ops/dialect.h"

namespace ruleengine::runtime {
namespace {

using ir::NodeId;
using ir::ValueId;

// Nodes that become one, each read by the next one alone; the last one gives
// the result.
struct Chain {
  std::string_view type;  // of the op that they become
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs;  // invalid: absent
  std::vector<ir::Attribute> attributes;
  // Of the result, as no rule tells the types of what the ops give.
  const ir::Type* result = nullptr;
};

// The chains of one graph.
class Chains {
 public:
  explicit Chains(ir::Graph& graph)
      : graph_(graph), facts_(graph), is_taken_(graph.node_count()) {}

  std::vector<Chain> find() {
    for (std::size_t i = 0; i < is_taken_.size(); ++i) {
      const NodeId node(i);
      if (graph_.node(node).removed || is_taken_[i]) continue;
      const ir::Op& op = graph_.op(node);
      if (op.standard("MatMul") || op.standard("Gemm")) {
        find_product(node);
      } else if (op.standard("Swish") || op.standard("Sigmoid")) {
        find_gate(node);
      }
    }
    return std::move(found_);
  }

 private:
  const ir::Type* type(ValueId v) { return v ? facts_.type(v) : nullptr; }

  // The node that alone reads what `node` gives, in the same block.
  NodeId reader(NodeId node) const {
    const ValueId v = graph_.output(node);
    if (!v || graph_.reader_count(v) != 1) return {};
    const ir::OperandId use = graph_.first_use(v);
    if (!use) return {};
    const NodeId out = graph_.operand(use).user;
    const bool is_free = !is_taken_[out.index()] &&
                         graph_.node(out).block == graph_.node(node).block;
    return is_free ? out : NodeId();
  }

  // The operand of a node of two that is not `v`.
  ValueId other(NodeId node, ValueId v) const {
    return graph_.input(node, graph_.input(node, 0) == v ? 1 : 0);
  }

  void take(Chain chain) {
    for (const NodeId each : chain.nodes) is_taken_[each.index()] = true;
    chain.result = type(graph_.output(chain.nodes.back()));
    found_.push_back(std::move(chain));
  }

  // --- products --------------------------------------------------------------

  enum Input : std::uint8_t { kA, kB, kRow, kSum };

  static bool is_float(const ir::Type* t) {
    return ir::is_ranked(t) && (t->elem == ir::DataType::kFloat ||
                                t->elem == ir::DataType::kFloat16 ||
                                t->elem == ir::DataType::kBfloat16);
  }

  // Whether the value is added to each row of a tensor of this type.
  bool is_row_of(ValueId v, const ir::Type& whole) {
    const ir::Type* t = type(v);
    if (!is_float(t) || t->rank() == 0 || t->rank() > whole.rank()) {
      return false;
    }
    const auto leading = t->dims.first(t->rank() - 1);
    return facts_.is_same_size(t->dims.back(), whole.dims.back()) &&
           std::ranges::all_of(leading,
                               [](ir::Dim d) { return d == ir::Dim(1); });
  }

  bool is_of_shape(ValueId v, const ir::Type& whole) {
    const ir::Type* t = type(v);
    return is_float(t) &&
           std::ranges::equal(t->dims, whole.dims, [&](ir::Dim a, ir::Dim b) {
             return facts_.is_same_size(a, b);
           });
  }

  // The product alone; none where it is not one that is joined.
  std::optional<Chain> start(NodeId node, const ir::Type& whole) {
    Chain out{.type = kJoinedProduct,
              .nodes = {node},
              .inputs = {graph_.input(node, 0), graph_.input(node, 1),
                         graph_.input(node, 2), ValueId()}};
    // With a vector behind it the last axis is one of the first operand.
    const ir::Type* second = type(out.inputs[kB]);
    if (!is_float(second) || second->rank() < 2) return std::nullopt;
    for (const ir::Attribute& a : graph_.node(node).attributes) {
      if (!a.ref.empty()) return std::nullopt;
      if (a.name != "beta") out.attributes.push_back(a);
    }
    if (!out.inputs[kRow]) return out;
    const ir::Attribute* beta = graph_.attribute(node, "beta");
    const bool is_whole = beta == nullptr || beta->f == 1;
    if (!is_whole || !is_row_of(out.inputs[kRow], whole)) return std::nullopt;
    return out;
  }

  bool adds(Chain& chain, NodeId node, const ir::Type& whole) {
    if (!graph_.op(node).standard("Add")) return false;
    const ValueId v = other(node, graph_.output(chain.nodes.back()));
    ValueId& row = chain.inputs[kRow];
    ValueId& sum = chain.inputs[kSum];
    if (!row && is_row_of(v, whole)) {
      row = v;
    } else if (!sum && is_of_shape(v, whole)) {
      sum = v;
    } else {
      return false;
    }
    return true;
  }

  bool activates(Chain& chain, NodeId node) const {
    const ir::Op& op = graph_.op(node);
    const ir::Attribute* how = graph_.attribute(node, "approximate");
    const bool is_gelu = op.standard("Gelu") && how != nullptr &&
                         how->ref.empty() && how->s == "tanh";
    if (!is_gelu && !op.standard("Relu")) return false;
    chain.attributes.push_back({.name = "activation",
                                .kind = ir::AttributeKind::kString,
                                .s = is_gelu ? "Gelu" : "Relu"});
    return true;
  }

  void find_product(NodeId node) {
    const ir::Type* whole = type(graph_.output(node));
    if (!is_float(whole) || whole->rank() == 0) return;
    auto chain = start(node, *whole);
    if (!chain) return;
    bool goes_on = true;
    while (goes_on) {
      const NodeId next = reader(chain->nodes.back());
      if (!next) break;
      goes_on = adds(*chain, next, *whole);
      if (goes_on || activates(*chain, next)) chain->nodes.push_back(next);
    }
    if (chain->nodes.size() > 1) take(*std::move(chain));
  }

  // --- gates -----------------------------------------------------------------

  // Swish(x), or x * Sigmoid(x), and what that is multiplied with.
  void find_gate(NodeId node) {
    const ValueId x = graph_.input(node, 0);
    if (!is_float(type(x))) return;
    Chain chain{.type = kJoinedSwish, .nodes = {node}, .inputs = {x}};
    const auto multiplies = [&](NodeId next) {
      return next && graph_.op(next).standard("Mul");
    };
    if (graph_.op(node).standard("Sigmoid")) {
      const NodeId next = reader(node);
      if (!multiplies(next) || other(next, graph_.output(node)) != x) return;
      chain.nodes.push_back(next);
    } else if (const auto* alpha = graph_.attribute(node, "alpha");
               alpha != nullptr && (!alpha->ref.empty() || alpha->f != 1)) {
      return;
    }
    const ValueId gate = graph_.output(chain.nodes.back());
    const NodeId next = reader(chain.nodes.back());
    if (multiplies(next)) {
      chain.type = kJoinedSwiGlu;
      chain.inputs.push_back(other(next, gate));
      chain.nodes.push_back(next);
    }
    chain.attributes.push_back(
        {.name = "alpha", .kind = ir::AttributeKind::kFloat, .f = 1});
    if (chain.nodes.size() > 1) take(std::move(chain));
  }

  ir::Graph& graph_;
  analysis::Inference facts_;
  std::vector<bool> is_taken_;  // by node
  std::vector<Chain> found_;
};

// Makes the nodes of chains one each.
class Joiner {
 public:
  explicit Joiner(ir::Model& model) : model_(model) {}

  bool join(ir::Graph& graph) {
    // All types are asked for before the graph changes.
    const std::vector<Chain> all = Chains(graph).find();
    for (const Chain& chain : all) replace(graph, chain);
    return !all.empty();
  }

 private:
  // A name that no function of the model has.
  ir::OpId new_op(std::string_view type) {
    while (true) {
      const ir::OpId out =
          model_.ops.intern(ops::dialect::kOwn, type, std::to_string(++count_));
      if (model_.find_function(model_.ops[out]) == nullptr) return out;
    }
  }

  // The nodes of the chain as the body of a function.
  void add_function(const ir::Graph& graph, const Chain& chain, ir::OpId own) {
    const ir::Op op = model_.ops[own];
    auto made = std::make_unique<ir::Function>(model_);
    made->domain = op.domain;
    made->name = op.type;
    made->overload = op.overload;
    made->opset_imports = {{.domain = "", .version = graph.opset("")}};
    ir::Graph& body = made->body;
    const ir::BlockId main = ir::Graph::main_block();
    std::map<ValueId, ValueId> inner;
    const auto add = [&](ValueId v, ir::ValueKind kind) {
      const ValueId own_value =
          body.add_value(v ? graph.value(v).name : Name(), main, kind);
      inner.try_emplace(v, own_value);
      return own_value;
    };
    for (const ValueId v : chain.inputs) {
      made->inputs.push_back(v ? graph.name(v) : std::string_view());
      body.add_block_input(main, add(v, ir::ValueKind::kInput));
    }
    ValueId last;
    for (const NodeId node : chain.nodes) {
      std::vector<ValueId> inputs;
      for (const ir::Operand& o : graph.inputs(node)) {
        inputs.push_back(o.value ? inner.at(o.value) : ValueId());
      }
      last = add(graph.output(node), ir::ValueKind::kUndefined);
      body.add_node(graph.node(node).op, main, graph.node(node).name, inputs,
                    {&last, 1}, graph.node(node).attributes);
    }
    body.add_block_output(main, last);
    made->outputs.push_back(body.name(last));
    model_.functions.push_back(std::move(made));
  }

  void replace(ir::Graph& graph, const Chain& chain) {
    const ir::OpId own = new_op(chain.type);
    add_function(graph, chain, own);
    const ir::Node last = graph.node(chain.nodes.back());
    const ValueId out = graph.output(chain.nodes.back());
    for (const NodeId node : std::views::reverse(chain.nodes)) {
      graph.remove_node(node);
    }
    graph.mutable_value(out).removed = false;
    graph.mutable_value(out).declared = chain.result;
    std::vector<ValueId> inputs = chain.inputs;
    while (!inputs.back()) inputs.pop_back();
    const NodeId made = graph.add_node(
        own, last.block, last.name, inputs, {&out, 1},
        model_.arena.copy(std::span<const ir::Attribute>(chain.attributes)));
    graph.mutable_node(made).rank = last.rank;
  }

  ir::Model& model_;
  std::size_t count_ = 0;  // of names that were tried
};

}  // namespace

std::shared_ptr<const ir::Model> join(const ir::Model& model,
                                      const OpChoice& choice) {
  const ir::Op product{ops::dialect::kOwn, kJoinedProduct, {}};
  if (!choice.has_kernel(product)) return nullptr;
  std::shared_ptr<ir::Model> copy = model.copy();
  Joiner joiner(*copy);
  bool is_changed = joiner.join(copy->graph);
  for (std::size_t i = 0, n = model.functions.size(); i < n; ++i) {
    ir::Function& each = *copy->functions[i];
    if (!each.removed) is_changed = joiner.join(each.body) || is_changed;
  }
  return is_changed ? copy : nullptr;
}

}  // namespace ruleengine::runtime
