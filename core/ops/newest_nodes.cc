#include "core/ops/newest_nodes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/whole.h"
#include "core/ir/model.h"
#include "core/ops/attribute_meaning.h"
#include "core/ops/op_row.h"

namespace ruleengine::ops {

NewestNodes::NewestNodes(ir::Graph& graph, ir::Facts& facts)
    : graph_(graph),
      facts_(facts),
      upgrades_(graph, graph.opset("")),
      in_function_(graph.function() != nullptr) {}

const NewestForm* NewestNodes::form(ir::NodeId node) {
  if (!upgrades_.needed(graph_.node(node).op)) return nullptr;
  const auto [at, is_new] = forms_.try_emplace(node);
  if (is_new) upgrades_.view(node, facts_, at->second);
  return &at->second;
}

bool NewestNodes::readable(ir::NodeId node) {
  const auto given = [](const ir::Attribute& a) { return !a.ref.empty(); };
  if (in_function_ &&
      std::ranges::any_of(graph_.node(node).attributes, given)) {
    return false;
  }
  const NewestForm* newest = form(node);
  return newest == nullptr || newest->readable;
}

std::size_t NewestNodes::input_count(ir::NodeId node) {
  const NewestForm* newest = form(node);
  return newest ? newest->inputs.size() : graph_.node(node).operand_count;
}

ir::ValueId NewestNodes::input(ir::NodeId node, std::size_t i) {
  const NewestForm* newest = form(node);
  if (newest == nullptr) return graph_.input(node, i);
  return i < newest->inputs.size() ? newest->inputs[i] : ir::ValueId();
}

std::span<const ir::Attribute> NewestNodes::written(ir::NodeId node) {
  const NewestForm* newest = form(node);
  if (newest != nullptr) return newest->attributes;
  return graph_.node(node).attributes;
}

const ir::Attribute* NewestNodes::attribute(ir::NodeId node,
                                            std::string_view name) {
  const auto all = written(node);
  const auto at = std::ranges::find(all, name, &ir::Attribute::name);
  return at != all.end() ? &*at : default_of(node, name);
}

bool NewestNodes::is_default(ir::NodeId node, const ir::Attribute& attribute) {
  // The outputs of a Split also tell the number of parts.
  if (attribute.name == "num_outputs" && attribute.ref.empty() &&
      graph_.op(node).standard("Split")) {
    return attribute.i ==
           static_cast<std::int64_t>(graph_.outputs(node).size());
  }
  const ir::Attribute* usual = default_of(node, attribute.name);
  if (usual == nullptr || !attribute.ref.empty()) return false;
  return ir::same_value(attribute, *usual, graph_.model().external.get()) ||
         same_axis(node, *usual, &attribute);
}

bool NewestNodes::permits(ir::NodeId node, const ir::Attribute& attribute) {
  const OpFacts* facts = op_facts(graph_.node(node).op);
  return facts != nullptr && facts->permits(attribute.name);
}

const ir::Attribute* NewestNodes::keep(const ir::Attribute* attribute) {
  if (attribute == nullptr) return nullptr;
  // Upgraded forms are temporary; attributes of the graph are not.
  for (const auto& [node, newest] : forms_) {
    const auto& list = newest.attributes;
    if (attribute < list.data() || attribute >= list.data() + list.size()) {
      continue;
    }
    return graph_.model().arena.make<ir::Attribute>(*attribute);
  }
  return attribute;
}

const OpFacts* NewestNodes::op_facts(ir::OpId op) {
  KnownOp& known = ops_[op];
  if (!known.looked) {
    known.looked = true;
    const ir::Op& name = graph_.model().ops[op];
    known.facts = newest_op(name.domain, name.type);
  }
  return known.facts;
}

const ir::Attribute* NewestNodes::default_of(ir::NodeId node,
                                             std::string_view name) {
  const OpFacts* facts = op_facts(graph_.node(node).op);
  if (facts == nullptr) return nullptr;
  const FormalAttribute* formal = facts->attribute(name);
  if (formal == nullptr) return nullptr;
  std::optional<std::vector<std::int64_t>> ints;
  if (!formal->has_default) {
    const ir::ValueId data = input(node, 0);
    ints = rank_default(*facts, name, data ? facts_.type(data) : nullptr);
    if (!ints) return nullptr;
  }
  Arena& arena = graph_.model().arena;
  const ir::Attribute*& usual = defaults_[{formal, ints ? ints->size() : 0}];
  if (usual == nullptr) {
    ir::Attribute a = default_attribute(*formal);
    if (ints) a.ints = arena.copy(std::span<const std::int64_t>(*ints));
    usual = arena.make<ir::Attribute>(a);
  }
  return usual;
}

std::optional<std::vector<std::int64_t>> NewestNodes::from_front(
    ir::NodeId node, std::vector<std::int64_t> axes) {
  const ir::Op& op = graph_.op(node);
  const ir::ValueId counted =
      roles_of(op).counts_axes_of_result ? graph_.output(node) : input(node, 0);
  const ir::Type* type = counted ? facts_.type(counted) : nullptr;
  if (type == nullptr || !type->has_shape) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(type->rank());
  for (std::int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    if (axis < 0) axis += rank;
  }
  // Reductions and views take lists of axes in any order.
  const OpFamily family = op_family(op.domain, op.type);
  if (family == OpFamily::kReduction || family == OpFamily::kView) {
    std::ranges::sort(axes);
  }
  return axes;
}

bool NewestNodes::same_axis(ir::NodeId node, const ir::Attribute& wanted,
                            const ir::Attribute* found) {
  if (!names_axes(wanted.name) || found == nullptr || !found->ref.empty() ||
      wanted.kind != found->kind ||
      (wanted.kind != ir::AttributeKind::kInt &&
       wanted.kind != ir::AttributeKind::kInts)) {
    return false;
  }
  const auto axes = [&](const ir::Attribute& a) {
    const bool is_one = a.kind == ir::AttributeKind::kInt;
    const auto ints = is_one ? std::span(&a.i, 1) : a.ints;
    return from_front(node, {ints.begin(), ints.end()});
  };
  const auto a = axes(wanted);
  return a && a == axes(*found);
}

bool NewestNodes::same_axes(ir::NodeId node, std::size_t slot,
                            ir::ValueId value, std::span<const double> wanted,
                            bool scalar) {
  const OpFacts* facts = op_facts(graph_.node(node).op);
  const FormalValue* formal = facts == nullptr ? nullptr : facts->input(slot);
  if (formal == nullptr || !names_axes(formal->name) || !value) {
    return false;
  }
  const ir::Literal* tensor = facts_.constant(value);
  if (tensor == nullptr || !ir::is_integer(tensor->dtype) ||
      tensor->element_count() != static_cast<std::int64_t>(wanted.size()) ||
      (!scalar && tensor->dims.size() != 1) ||
      !std::ranges::all_of(wanted, is_whole)) {
    return false;
  }
  const auto found =
      ir::to_doubles(*tensor, graph_.model().external.get(), wanted.size());
  if (!found) return false;
  const auto whole = [](const auto& numbers) {
    std::vector<std::int64_t> out;
    for (const double n : numbers) out.push_back(static_cast<std::int64_t>(n));
    return out;
  };
  const auto a = from_front(node, whole(wanted));
  return a && a == from_front(node, whole(*found));
}

}  // namespace ruleengine::ops
