#include "core/rewrite/raise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/ops/onnx_runtime.h"
#include "core/ops/op_facts.h"
#include "core/ops/upgrade.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/functions.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;

// In older opsets too many ops had another meaning.
constexpr std::int64_t kOldest = 7;

// Raises one graph: plans while the graph has the old opset, and applies when
// all graphs have a plan.
class Raiser {
 public:
  Raiser(ir::Graph& graph, std::int64_t to)
      : graph_(graph), model_(graph.model()), workspace_(graph), to_(to) {}

  Status plan() {
    from_ = workspace_.opset("");
    if (from_ == 0 || from_ >= to_) return {};
    if (from_ < kOldest) return too_old();
    if (to_ > ops::kRuntimeOpset) return too_new();
    ops::Upgrades upgrades(graph_, from_, to_);
    return plan_all([&](NodeId node, ir::Facts& facts) {
      return plan(node, facts, upgrades);
    });
  }

  // The same for the body of a function, and also for an older opset.
  Status plan_body() {
    from_ = workspace_.opset("");
    if (from_ == 0 || from_ == to_) return {};
    ops::Upgrades upgrades(graph_, from_);
    return plan_all([&](NodeId node, ir::Facts& facts) {
      return plan_body(node, facts, upgrades);
    });
  }

  void apply() {
    if (!needed_) return;
    for (const auto& [node, form] : planned_) write(node, form);
    auto& imports = workspace_.function() == nullptr
                        ? model_.opset_imports
                        : workspace_.function()->opset_imports;
    if (const std::size_t own = imports.find(""); own < imports.size()) {
      imports.set_version(own, to_);
    }
    if (workspace_.function() != nullptr) workspace_.function()->proto = {};
    graph_.mutable_block(ir::Graph::main_block()).changed = true;
    model_.changed = true;
  }

 private:
  // Plans the nodes of the standard.
  Status plan_all(const auto& plan_one) {
    analysis::Inference facts(graph_);
    for (const NodeId node : graph_.live_nodes()) {
      if (!graph_.op(node).domain.empty()) continue;
      if (Status s = plan_one(node, facts); !s) return s;
    }
    needed_ = true;
    return {};
  }

  // Plans one node. A node with the same definition at both opsets needs no
  // check.
  Status plan(NodeId node, ir::Facts& facts, ops::Upgrades& upgrades) {
    const std::string_view type = graph_.op(node).type;
    const ops::OpFacts* then = version(type, from_);
    const ops::OpFacts* now = version(type, to_);
    if (then == now) return {};
    if (now == nullptr || now->deprecated) {
      return cannot(node, "the op does not exist there");
    }
    if (then == nullptr && !is_standard(node, facts)) {
      return cannot(node, "it is an op of ONNX Runtime with the same name");
    }
    if (Status s = check_runtime(node, facts); !s) return s;
    if (then != nullptr) {
      if (Status s = check_types(node, *then, *now, facts); !s) return s;
    }
    ops::NewestForm form;
    if (!upgrades.needed(graph_.node(node).op)) {
      return check_attributes(node, graph_.node(node).attributes, *now);
    }
    upgrades.view(node, facts, form);
    if (!form.readable) return cannot(node, "it has another meaning there");
    if (Status s = check_attributes(node, form.attributes, *now); !s) return s;
    planned_.emplace_back(node, std::move(form));
    return {};
  }

  // Reads the node in its newest form, and writes that at the other opset.
  Status plan_body(NodeId node, ir::Facts& facts, ops::Upgrades& upgrades) {
    const std::string_view type = graph_.op(node).type;
    const ops::OpFacts* then = version(type, from_);
    const ops::OpFacts* now = version(type, to_);
    if (then == now) return {};
    if (now == nullptr || then == nullptr || now->deprecated) {
      return no_body(node, "there is no such op");
    }
    const auto own = graph_.node(node).attributes;
    ops::NewestForm form{.inputs = {}, .attributes = {own.begin(), own.end()}};
    for (const ir::Operand& o : graph_.inputs(node)) {
      form.inputs.push_back(o.value);
    }
    const bool refers = std::ranges::any_of(
        own, [](const ir::Attribute& a) { return !a.ref.empty(); });
    if (upgrades.needed(graph_.node(node).op)) {
      if (refers) return no_body(node, "an attribute is that of the call");
      upgrades.view(node, facts, form);
      if (!form.readable) return no_body(node, "it has another meaning");
    }
    auto older = ops::to_opset(graph_, "", type, std::move(form.inputs),
                               std::move(form.attributes), to_, facts);
    if (!older) {
      const Diagnostic& why = older.error();
      return no_body(node, why.what + ", expected " + why.expected);
    }
    const auto count = static_cast<int>(older->inputs.size());
    if (count > now->max_inputs) return no_body(node, "it has fewer inputs");
    for (const ir::Attribute& each : older->attributes) {
      if (now->attribute(each.name) != nullptr) continue;
      return no_body(node, fmt::format("it has no attribute '{}'",
                                       printable(each.name, 60)));
    }
    planned_.emplace_back(
        node, ops::NewestForm{.inputs = std::move(older->inputs),
                              .attributes = std::move(older->attributes)});
    return {};
  }

  Diagnostic no_body(NodeId node, std::string_view why) const {
    return {.kind = ErrorKind::kModel,
            .what = fmt::format("opset {} cannot express {}", to_,
                                graph_.describe(node)),
            .found = std::string(why)};
  }

  static const ops::OpFacts* version(std::string_view type,
                                     std::int64_t opset) {
    return ops::find_op("", type, static_cast<int>(opset));
  }

  // For an op of ONNX Runtime that the standard took over later: whether this
  // node fits the standard's definition, in which all inputs have one type.
  bool is_standard(NodeId node, ir::Facts& facts) const {
    if (!ops::is_adopted(graph_.op(node).type)) return false;
    const ir::DataType elem = element(graph_.input(node, 0), facts);
    return elem != ir::DataType::kUndefined &&
           std::ranges::all_of(graph_.inputs(node), [&](const auto& use) {
             return !use.value || element(use.value, facts) == elem;
           });
  }

  static ir::DataType element(ValueId value, ir::Facts& facts) {
    const ir::Type* type = value ? facts.type(value) : nullptr;
    return type != nullptr && type->is_tensor() ? type->elem
                                                : ir::DataType::kUndefined;
  }

  // Checks that ONNX Runtime still runs the node.
  Status check_runtime(NodeId node, ir::Facts& facts) const {
    const std::string_view type = graph_.op(node).type;
    const auto last =
        std::ranges::find(ops::kLastKernels, type, &ops::LastKernel::type);
    if (last != ops::kLastKernels.end() && from_ <= last->opset &&
        to_ > last->opset) {
      return cannot(node, fmt::format("{} runs it up to opset {}",
                                      ops::kRuntimeName, last->opset));
    }
    const int moves = ops::kMovesUint8Alone;
    if (type != "DequantizeLinear" || from_ >= moves || to_ < moves) return {};
    const ValueId data = graph_.input(node, 0);
    const ir::DataType elem = element(data, facts);
    if (elem == ir::DataType::kUint8 || facts.is_constant(data)) return {};
    return cannot(
        node, fmt::format("the optimizer of {} may fail on one of {} from "
                          "opset {} on",
                          ops::kRuntimeName, ir::data_type_name(elem), moves));
  }

  // Checks that the newer op still accepts the types of the inputs.
  Status check_types(NodeId node, const ops::OpFacts& then,
                     const ops::OpFacts& now, ir::Facts& facts) const {
    for (std::size_t i = 0; i < graph_.inputs(node).size(); ++i) {
      const ops::FormalValue* before = then.input(i);
      const ops::FormalValue* after = now.input(i);
      if (before == nullptr || after == nullptr || after->elems == 0) continue;
      const std::uint32_t lost = before->elems & ~after->elems;
      if (lost == 0) continue;
      const ir::DataType elem = element(graph_.input(node, i), facts);
      const auto bit = static_cast<unsigned>(elem);
      if (bit >= 32 || (lost >> bit & 1U) == 0) continue;
      return cannot(node, fmt::format("it does not accept {} there",
                                      ir::data_type_name(elem)));
    }
    return {};
  }

  Status check_attributes(NodeId node, std::span<const ir::Attribute> all,
                          const ops::OpFacts& now) const {
    for (const ir::Attribute& each : all) {
      if (now.attribute(each.name) != nullptr) continue;
      return cannot(node, fmt::format("it has no attribute '{}' there",
                                      printable(each.name, 60)));
    }
    return {};
  }

  Diagnostic too_old() const {
    return {.kind = ErrorKind::kModel,
            .what = "the opset is too old to be raised",
            .where = model_.path,
            .expected = "opset " + std::to_string(kOldest) + " or newer",
            .found = "opset " + std::to_string(from_)};
  }

  Diagnostic too_new() const {
    return {.kind = ErrorKind::kModel,
            .what = fmt::format("the opset cannot be raised to {}", to_),
            .where = model_.path,
            .expected = fmt::format("up to {}, the newest that {} loads",
                                    ops::kRuntimeOpset, ops::kRuntimeName)};
  }

  Diagnostic cannot(NodeId node, std::string_view why) const {
    return {.kind = ErrorKind::kModel,
            .what = fmt::format("the opset cannot be raised to {}", to_),
            .where = model_.path,
            .expected = "nodes that the newer opset can express, and that " +
                        std::string(ops::kRuntimeName) + " runs there",
            .found = fmt::format("{}: {}", graph_.describe(node), why)};
  }

  // Writes the node in the form of the newer opset. The operands of a node
  // cannot change in number, so a new node replaces it.
  void write(NodeId node, const ops::NewestForm& form) {
    const ir::BlockId block = graph_.node(node).block;
    std::vector<ValueId> inputs = form.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = named(inputs[i], block, op_input(node, i));
    }
    graph_.replace_node(
        node, inputs,
        model_.arena.copy(std::span<const ir::Attribute>(form.attributes)));
    mark_changed(block);
  }

  void mark_changed(ir::BlockId block) {
    for (; block; block = graph_.block(block).parent) {
      graph_.mutable_block(block).changed = true;
      if (const NodeId owner = graph_.block(block).owner) {
        graph_.mutable_node(owner).proto = {};
      }
    }
  }

  std::string op_input(NodeId node, std::size_t i) const {
    const ops::OpFacts* facts = ops::newest_op("", graph_.op(node).type);
    const ops::FormalValue* formal =
        facts == nullptr ? nullptr : facts->input(i);
    return formal == nullptr ? "constant" : std::string(formal->name);
  }

  // Names a value that was an attribute; equal small constants become one
  // value.
  ValueId named(ValueId value, ir::BlockId block, std::string_view stem) {
    if (!value || graph_.value(value).name) return value;
    const ir::Literal& tensor = *graph_.value(value).tensor;
    const bool inside = workspace_.function() != nullptr;
    const auto make = [&] {
      return inside ? node_for(tensor, block, stem) : list(value, stem);
    };
    const std::string bytes = key_of(tensor, model_.external.get());
    if (bytes.empty()) return make();  // too large to compare
    ValueId& known = constants_[{inside ? block : ir::BlockId(), bytes}];
    if (!known) known = make();
    return known;
  }

  ValueId list(ValueId value, std::string_view stem) {
    graph_.mutable_value(value).name =
        model_.names.intern(model_.unique_name(stem));
    graph_.mutable_block(ir::Graph::main_block()).initializers.push_back(value);
    return value;
  }

  // Makes a Constant node, since function bodies have no initializers.
  ValueId node_for(const ir::Literal& tensor, ir::BlockId block,
                   std::string_view stem) {
    const ValueId value =
        graph_.add_value(model_.names.intern(model_.unique_name(stem)), block,
                         ir::ValueKind::kUndefined);
    const auto tensors = model_.arena.array<const ir::Literal*>(1);
    tensors[0] = &tensor;
    const ir::Attribute attribute = {.name = "value",
                                     .kind = ir::AttributeKind::kTensor,
                                     .tensors = tensors};
    graph_.add_node(model_.ops.intern("", "Constant"), block,
                    model_.unique_name("Constant"), {}, {&value, 1},
                    model_.arena.copy(std::span(&attribute, 1)));
    return value;
  }

  ir::Graph& graph_;
  ir::Model& model_;
  Workspace workspace_;
  std::int64_t to_;
  std::int64_t from_ = 0;
  bool needed_ = false;
  std::vector<std::pair<NodeId, ops::NewestForm>> planned_;
  // By block, since a block does not see the nodes of others, and by content.
  std::map<std::pair<ir::BlockId, std::string>, ValueId> constants_;
};

using Raisers = std::vector<std::unique_ptr<Raiser>>;

Status plan(ir::Model& model, std::int64_t opset, Raisers& raisers) {
  for (ir::Graph* graph : rewritable_graphs(model)) {
    raisers.push_back(std::make_unique<Raiser>(*graph, opset));
    if (Status s = raisers.back()->plan(); !s) return s;
  }
  return {};
}

}  // namespace

Status raise_opset(ir::Model& model, std::int64_t opset) {
  Raisers raisers;
  if (Status s = plan(model, opset, raisers); !s) return s;
  for (const auto& raiser : raisers) raiser->apply();
  return {};
}

Status set_opset(ir::Function& function, std::int64_t opset) {
  Raiser raiser(function.body, opset);
  if (Status s = raiser.plan_body(); !s) return s;
  raiser.apply();
  return {};
}

Status check_raise(ir::Model& model, std::int64_t opset) {
  Raisers raisers;
  return plan(model, opset, raisers);
}

}  // namespace ruleengine::rewrite
