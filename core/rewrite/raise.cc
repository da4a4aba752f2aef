#include "core/rewrite/raise.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/ir/op_facts.h"
#include "core/ir/upgrade.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/workspace.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;

// Before it, too much of the standard meant something else.
constexpr std::int64_t kOldest = 7;

// One graph on its way: planned while the old opset stands, applied when all
// graphs have a plan.
class Raiser {
 public:
  Raiser(ir::Graph& graph, std::int64_t to)
      : graph_(graph), model_(graph.model()), workspace_(graph), to_(to) {}

  Status plan() {
    const std::int64_t from = workspace_.opset("");
    if (from == 0 || from >= to_) return {};
    if (from < kOldest) return too_old(from);
    analysis::Inference facts(graph_);
    ir::Upgrades upgrades(graph_, from);
    for (std::size_t i = 0; i < graph_.node_count(); ++i) {
      const NodeId node(i);
      const ir::Op& op = graph_.op(node);
      if (graph_.node(node).removed || !op.domain.empty()) continue;
      const ir::OpFacts* newest = ir::newest_op("", op.type);
      if (newest == nullptr || newest->deprecated) return cannot(node);
      if (!upgrades.needed(graph_.node(node).op)) continue;
      ir::NewestForm form;
      upgrades.view(node, facts, form);
      if (!form.readable) return cannot(node);
      auto older = ir::to_opset(graph_, "", op.type, std::move(form.inputs),
                                std::move(form.attributes), to_, facts);
      if (!older) return cannot(node, older.error());
      planned_.emplace_back(node, std::move(*older));
    }
    needed_ = true;
    return {};
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
  Diagnostic too_old(std::int64_t from) const {
    return {.kind = ErrorKind::kModel,
            .what = "the opset is too old to be raised",
            .where = model_.path,
            .expected = "opset " + std::to_string(kOldest) + " or newer",
            .found = "opset " + std::to_string(from)};
  }

  Diagnostic cannot(NodeId node, const Diagnostic& why = {}) const {
    std::string found = graph_.describe(node);
    if (!why.what.empty()) found += ": " + why.what;
    if (!why.found.empty()) found += " (" + why.found + ")";
    return {.kind = ErrorKind::kModel,
            .what = "the opset cannot be raised",
            .where = model_.path,
            .expected = "nodes that opset " + std::to_string(to_) + " can say",
            .found = std::move(found)};
  }

  // The same node, as the newer opset writes it. A node has the operands it was
  // made with, so one takes the other's place.
  void write(NodeId node, const ir::OlderForm& form) {
    const ir::Node old = graph_.node(node);
    std::vector<ValueId> inputs = form.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = named(inputs[i], old.block, op_input(node, i));
    }
    const auto span = graph_.outputs(node);
    const std::vector<ValueId> outputs(span.begin(), span.end());
    graph_.remove_node(node);
    for (ValueId v : outputs) {
      if (v) graph_.mutable_value(v).removed = false;
    }
    const NodeId made = graph_.add_node(
        old.op, old.block, old.name, inputs, outputs,
        model_.arena.copy(std::span<const ir::Attribute>(form.attributes)));
    graph_.mutable_node(made).rank = old.rank;
    graph_.mutable_node(made).extra = old.extra;
    graph_.mutable_node(made).metadata = old.metadata;
    mark_changed(old.block);
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
    const ir::OpFacts* facts = ir::newest_op("", graph_.op(node).type);
    const ir::FormalValue* formal =
        facts == nullptr ? nullptr : facts->input(i);
    return formal == nullptr ? "constant" : std::string(formal->name);
  }

  // What was an attribute gets a name; equal ones become one value.
  ValueId named(ValueId value, ir::BlockId block, std::string_view stem) {
    if (!value || graph_.value(value).name) return value;
    const ir::Tensor& tensor = *graph_.value(value).tensor;
    const bool inside = workspace_.function() != nullptr;
    const std::string bytes = key_of(tensor, model_.external.get());
    if (bytes.empty()) {  // too large to be compared
      return inside ? node_for(tensor, block, stem) : list(value, stem);
    }
    const auto place = std::pair(inside ? block : ir::BlockId(), bytes);
    ValueId& known = constants_[place];
    if (!known) {
      known = inside ? node_for(tensor, block, stem) : list(value, stem);
    }
    return known;
  }

  ValueId list(ValueId value, std::string_view stem) {
    graph_.mutable_value(value).name =
        model_.names.intern(model_.unique_name(stem));
    graph_.mutable_block(ir::Graph::main_block()).initializers.push_back(value);
    return value;
  }

  // Function bodies have no initializers.
  ValueId node_for(const ir::Tensor& tensor, ir::BlockId block,
                   std::string_view stem) {
    const ValueId value =
        graph_.add_value(model_.names.intern(model_.unique_name(stem)), block,
                         ir::ValueKind::kUndefined);
    const auto tensors = model_.arena.array<const ir::Tensor*>(1);
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
  bool needed_ = false;
  std::vector<std::pair<NodeId, ir::OlderForm>> planned_;
  // By where they are, since a block sees no other's nodes, and what.
  std::map<std::pair<ir::BlockId, std::string>, ValueId> constants_;
};

}  // namespace

Status raise_opset(ir::Model& model, std::int64_t opset) {
  std::vector<std::unique_ptr<Raiser>> raisers;
  for (ir::Graph* graph : rewritable_graphs(model)) {
    raisers.push_back(std::make_unique<Raiser>(*graph, opset));
    if (Status s = raisers.back()->plan(); !s) return s;
  }
  for (const auto& raiser : raisers) raiser->apply();
  return {};
}

}  // namespace ruleengine::rewrite
