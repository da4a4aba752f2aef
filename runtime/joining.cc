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
// the results.
struct Chain {
  std::string_view type;  // of the op that they become
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs;  // invalid: absent
  std::vector<ir::Attribute> attributes;
  std::vector<std::int64_t> parts;  // of a Split: their sizes
  std::int64_t rank = 0;            // of what it splits
  // Of the results, as no rule tells the types of what the ops give.
  std::vector<const ir::Type*> results;
};

// The chains of one graph.
class Chains {
 public:
  Chains(ir::Graph& graph, const OpChoice& choice)
      : graph_(graph),
        // JoinedSplit does not look again whether the axis is the last one.
        facts_(graph, {.believe = !can_join(choice, kJoinedSplit)}),
        choice_(choice),
        is_taken_(graph.node_count()) {}

  std::vector<Chain> find() {
    for (std::size_t i = 0; i < is_taken_.size(); ++i) {
      const NodeId node(i);
      if (graph_.node(node).removed || is_taken_[i]) continue;
      const ir::Op& op = graph_.op(node);
      if (op.standard("MatMul") || op.standard("Gemm")) {
        if (can_join(kJoinedProduct) || leads_to_split(node)) {
          find_product(node);
        }
      } else if (can_join(kJoinedSwish) &&
                 (op.standard("Swish") || op.standard("Sigmoid"))) {
        find_gate(node);
      }
    }
    return std::move(found_);
  }

  static bool may_find_some(const OpChoice& choice) {
    return can_join(choice, kJoinedProduct) || can_join(choice, kJoinedSplit) ||
           can_join(choice, kJoinedSwish);
  }

 private:
  static bool can_join(const OpChoice& choice, std::string_view type) {
    return choice.backends.front()->has_kernel(ops::dialect::kOwn, type);
  }
  bool can_join(std::string_view type) const { return can_join(choice_, type); }

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
    if (!can_join(chain.type)) return;
    for (const NodeId each : chain.nodes) is_taken_[each.index()] = true;
    for (const ValueId v : graph_.outputs(chain.nodes.back())) {
      chain.results.push_back(type(v));
    }
    found_.push_back(std::move(chain));
  }

  // --- products --------------------------------------------------------------

  enum Input : std::uint8_t { kA, kB, kRow, kSum, kSizes = kSum };

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

  // The following ones put the node at the end of the chain, where they can.

  bool add_sum(Chain& chain, NodeId node, const ir::Type& whole) {
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

  bool add_activation(Chain& chain, NodeId node) const {
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
      goes_on = add_sum(*chain, next, *whole);
      if (goes_on || add_activation(*chain, next)) {
        chain->nodes.push_back(next);
      }
    }
    const NodeId next = reader(chain->nodes.back());
    if (next && can_join(kJoinedSplit) &&
        add_split(*chain, next, whole->rank())) {
      chain->nodes.push_back(next);
    }
    if (chain->nodes.size() > 1) take(*std::move(chain));
  }

  // The sizes of the parts that a Split makes of an axis; empty where they are
  // not known, not those of such an axis, or so small that products of their
  // own would compute more than is saved.
  std::vector<std::int64_t> parts_of(NodeId split, std::int64_t size) const {
    const auto count = std::ssize(graph_.outputs(split));
    if (count == 0) return {};
    std::vector<std::int64_t> out(static_cast<std::size_t>(count),
                                  size / count);
    if (const ValueId said = graph_.input(split, 1)) {
      const ir::Literal* sizes = graph_.direct_constant(said);
      if (sizes == nullptr) return {};
      out = ir::to_ints(*sizes, graph_.model().external.get(), count)
                .value_or(std::vector<std::int64_t>());
    }
    constexpr std::int64_t kLeastPart = 32;
    std::int64_t rest = size;
    for (const std::int64_t each : out) {
      if (each < 0 || each > rest) return {};
      if (each != 0 && each < kLeastPart) return {};
      rest -= each;
    }
    return rest == 0 && std::ssize(out) == count ? out
                                                 : std::vector<std::int64_t>();
  }

  // Without a look at types, which cost time in a large model.
  bool leads_to_split(NodeId node) const {
    NodeId next = reader(node);
    if (next && graph_.op(next).standard("Add")) next = reader(next);
    return next && graph_.op(next).standard("Split");
  }

  // A Split of the columns of a product with a constant matrix, to which
  // nothing is done but that a constant row is added.
  bool add_split(Chain& chain, NodeId node, std::size_t rank) const {
    if (!graph_.op(node).standard("Split") || chain.inputs[kSum]) return false;
    bool transposed = false;
    for (const ir::Attribute& a : chain.attributes) {
      if (a.name == "transB") {
        transposed = a.i != 0;
      } else if (a.name == "activation" || a.i != 0 ||
                 (a.name == "alpha" && a.f != 1)) {
        return false;
      }
    }
    const ir::Attribute* axis = graph_.attribute(node, "axis");
    if (axis == nullptr || !axis->ref.empty()) return false;
    const auto last = static_cast<std::int64_t>(rank) - 1;
    if (axis->i != last && axis->i != -1) return false;
    const ir::Literal* b = graph_.direct_constant(chain.inputs[kB]);
    if (b == nullptr || b->dims.size() != 2) return false;
    const ValueId row = chain.inputs[kRow];
    if (row && graph_.direct_constant(row) == nullptr) return false;
    chain.rank = static_cast<std::int64_t>(rank);
    chain.parts = parts_of(node, b->dims[transposed ? 0 : 1]);
    if (chain.parts.empty()) return false;
    chain.type = kJoinedSplit;
    chain.inputs[kSizes] = graph_.input(node, 1);
    std::erase_if(chain.attributes,
                  [](const ir::Attribute& a) { return a.name != "transB"; });
    return true;
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
  const OpChoice& choice_;
  std::vector<bool> is_taken_;  // by node
  std::vector<Chain> found_;
};

// Makes the nodes of chains one each.
class Joiner {
 public:
  Joiner(ir::Model& model, const OpChoice& choice)
      : model_(model), choice_(choice) {}

  bool join(ir::Graph& graph) {
    // All types are asked for before the graph changes.
    const std::vector<Chain> all = Chains(graph, choice_).find();
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
    std::vector<ValueId> outputs;
    for (const NodeId node : chain.nodes) {
      std::vector<ValueId> inputs;
      for (const ir::Operand& o : graph.inputs(node)) {
        inputs.push_back(o.value ? inner.at(o.value) : ValueId());
      }
      outputs.clear();
      for (const ValueId v : graph.outputs(node)) {
        outputs.push_back(add(v, ir::ValueKind::kUndefined));
      }
      body.add_node(graph.node(node).op, main, graph.node(node).name, inputs,
                    outputs, graph.node(node).attributes);
    }
    for (const ValueId v : outputs) {
      body.add_block_output(main, v);
      made->outputs.push_back(body.name(v));
    }
    model_.functions.push_back(std::move(made));
  }

  void replace(ir::Graph& graph, const Chain& chain) {
    const ir::OpId own = new_op(chain.type);
    add_function(graph, chain, own);
    const ir::Node last = graph.node(chain.nodes.back());
    const auto read = graph.outputs(chain.nodes.back());
    const std::vector<ValueId> outputs(read.begin(), read.end());
    for (const NodeId node : std::views::reverse(chain.nodes)) {
      graph.remove_node(node);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i]) continue;
      graph.mutable_value(outputs[i]).removed = false;
      graph.mutable_value(outputs[i]).declared = chain.results[i];
    }
    std::vector<ValueId> inputs = chain.inputs;
    while (!inputs.back()) inputs.pop_back();
    std::vector<ir::Attribute> attributes = chain.attributes;
    if (!chain.parts.empty()) {
      attributes.push_back(
          {.name = "rank", .kind = ir::AttributeKind::kInt, .i = chain.rank});
      attributes.push_back({.name = "parts",
                            .kind = ir::AttributeKind::kInts,
                            .ints = model_.arena.copy(
                                std::span<const std::int64_t>(chain.parts))});
    }
    const NodeId made = graph.add_node(
        own, last.block, last.name, inputs, outputs,
        model_.arena.copy(std::span<const ir::Attribute>(attributes)));
    graph.mutable_node(made).rank = last.rank;
  }

  ir::Model& model_;
  const OpChoice& choice_;
  std::size_t count_ = 0;  // of names that were tried
};

}  // namespace

std::shared_ptr<const ir::Model> join(const ir::Model& model,
                                      const OpChoice& choice) {
  if (!Chains::may_find_some(choice)) return nullptr;
  std::shared_ptr<ir::Model> copy = model.copy();
  Joiner joiner(*copy, choice);
  bool is_changed = joiner.join(copy->graph);
  for (std::size_t i = 0, n = model.functions.size(); i < n; ++i) {
    ir::Function& each = *copy->functions[i];
    if (!each.removed) is_changed = joiner.join(each.body) || is_changed;
  }
  return is_changed ? copy : nullptr;
}

}  // namespace ruleengine::runtime
