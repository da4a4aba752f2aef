#include "core/ops/upgrade.h"

#include <algorithm>
#include <optional>
#include <span>

#include "core/ir/model.h"
#include "core/ir/narrow_float.h"
#include "core/ir/small_tensor.h"
#include "core/ops/op_facts.h"
#include "core/ops/upgrade_table.h"

namespace ruleengine::ops {
namespace {

// A scalar of a float type; none for other types.
std::optional<ir::Literal> scalar(Arena& arena, float value,
                                  ir::DataType dtype) {
  const auto of = [&](auto number) {
    const std::span<const decltype(number)> one(&number, 1);
    ir::Literal t = ir::vector_tensor(arena, dtype, one);
    t.dims = {};
    return t;
  };
  if (dtype == ir::DataType::kFloat) return of(value);
  if (dtype == ir::DataType::kDouble) return of(double{value});
  if (dtype != ir::DataType::kFloat16) return std::nullopt;
  return of(static_cast<std::uint16_t>(narrow(dtype, value)));
}

ir::DataType element_type(ir::Facts& facts, ir::ValueId value) {
  const ir::Type* type = value ? facts.type(value) : nullptr;
  return type != nullptr && type->is_tensor() ? type->elem
                                              : ir::DataType::kUndefined;
}

std::optional<std::int64_t> rank_of(ir::Facts& facts, ir::ValueId value) {
  const ir::Type* type = value ? facts.type(value) : nullptr;
  if (type == nullptr || !type->has_shape) return std::nullopt;
  return static_cast<std::int64_t>(type->rank());
}

ir::Attribute int_attribute(std::string_view name, std::int64_t value) {
  return {.name = name, .kind = ir::AttributeKind::kInt, .i = value};
}

void drop(NewestForm& form, std::string_view name) {
  std::erase_if(form.attributes,
                [&](const ir::Attribute& a) { return a.name == name; });
}

// Before opset 13 Softmax flattened; on the last axis it equals the newest one.
void upgrade_softmax(const FormalAttribute* formal, ir::ValueId input,
                     ir::Facts& facts, NewestForm& form) {
  const std::int64_t at = int_of(find(form.attributes, "axis"), formal);
  const auto rank = rank_of(facts, input);
  if (at != -1 && (!rank || at != *rank - 1)) form.readable = false;
  drop(form, "axis");
  form.attributes.push_back(int_attribute("axis", -1));
}

// Reads a type given as text, such as "FLOAT16".
void upgrade_cast(NewestForm& form) {
  for (ir::Attribute& a : form.attributes) {
    if (a.name != "to" || a.kind != ir::AttributeKind::kString) continue;
    std::string low(a.s);
    for (char& c : low) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    const ir::DataType type = ir::data_type_from_name(low);
    if (type == ir::DataType::kUndefined) form.readable = false;
    a = int_attribute("to", static_cast<std::int64_t>(type));
  }
}

// Explicit broadcasting equals that of the newest ops when it has no axis, or
// the axis that numpy's rules lead to.
void upgrade_broadcast(std::span<const ir::Operand> inputs, ir::Facts& facts,
                       NewestForm& form) {
  if (const ir::Attribute* axis = find(form.attributes, "axis")) {
    const auto a =
        inputs.size() == 2 ? rank_of(facts, inputs[0].value) : std::nullopt;
    const auto b = a ? rank_of(facts, inputs[1].value) : std::nullopt;
    if (!b || axis->i != *a - *b) form.readable = false;
  }
  drop(form, "axis");
  drop(form, "broadcast");
}

std::optional<ir::Literal> moved_tensor(Arena& arena, const Moved& row,
                                        const ir::Attribute& a,
                                        ir::DataType dtype) {
  switch (row.as) {
    case MovedAs::kList:
      return ir::int64_vector(arena, a.ints);
    case MovedAs::kOne:
      return ir::int64_vector(arena, {&a.i, 1});
    case MovedAs::kReal:
      return scalar(arena, a.f, ir::DataType::kFloat);
    case MovedAs::kScalar:
      return scalar(arena, a.f, dtype);
  }
  return std::nullopt;
}

}  // namespace

bool is_adopted(std::string_view type) { return is_in(kAdopted, type); }

Upgrades::Upgrades(ir::Graph& graph, std::int64_t opset, std::int64_t to)
    : graph_(&graph), opset_(opset), to_(to) {}
Upgrades::Upgrades(std::int64_t opset, std::int64_t to)
    : graph_(nullptr), opset_(opset), to_(to) {}

// Whether the op changed in anything but attributes that became inputs.
bool Upgrades::has_other_form(std::string_view type) const {
  const auto concerns = [&](const auto& row) {
    return row.type == type && crosses(row.since);
  };
  return crosses(kNoHints) || std::ranges::any_of(kChanged, concerns) ||
         std::ranges::any_of(kGone, concerns) ||
         std::ranges::any_of(kOnceDefault, concerns) ||
         std::ranges::any_of(kRenamed, concerns) ||
         (crosses(kSoftmaxOnAxis) && is_in(kSoftmaxLike, type)) ||
         (crosses(kBroadcasts) && is_in(kOnceExplicit, type)) ||
         (type == "Dropout" &&
          (crosses(kMaskIsBool) || crosses(kMaskIsTrue))) ||
         (crosses(kSplitCounts) && type == "Split") ||
         (crosses(kTrainingSaid) && type == "BatchNormalization");
}

void Upgrades::upgrade_gone(std::string_view type, NewestForm& form) const {
  for (const Gone& row : kGone) {
    if (row.type != type || !crosses(row.since)) continue;
    const ir::Attribute* a = find(form.attributes, row.attribute);
    if ((a == nullptr ? row.usual : a->i) != row.value) form.readable = false;
    drop(form, row.attribute);
  }
  for (const OnceDefault& row : kOnceDefault) {
    if (row.type != type || !crosses(row.since)) continue;
    if (find(form.attributes, row.attribute) != nullptr) continue;
    ir::Attribute a = int_attribute(row.attribute, row.number);
    if (!row.text.empty()) {
      a.kind = ir::AttributeKind::kString;
      a.s = row.text;
    } else if (row.real != 0) {
      a.kind = ir::AttributeKind::kFloat;
      a.f = row.real;
    }
    form.attributes.push_back(a);
  }
  for (const Renamed& row : kRenamed) {
    if (row.type != type || !crosses(row.since)) continue;
    for (ir::Attribute& a : form.attributes) {
      if (a.name != row.attribute || a.s != row.before) continue;
      a.s = row.now;
      a.proto = {};
    }
  }
  if (crosses(kNoHints)) drop(form, "consumed_inputs");
}

bool Upgrades::reads_otherwise(const ir::Op& op) const {
  const bool moved = std::ranges::any_of(kMoved, [&](const Moved& row) {
    return row.type == op.type && crosses(row.since);
  });
  return op.domain.empty() && (moved || has_other_form(op.type));
}

bool Upgrades::needed(ir::OpId id) const {
  std::uint8_t& known = needed_[id];
  if (known == 0) known = reads_otherwise(graph_->model().ops[id]) ? 2 : 1;
  return known == 2;
}

bool Upgrades::needed(const ir::Op& op, std::int64_t opset) {
  return Upgrades(opset, kNewest).reads_otherwise(op);
}

ir::ValueId Upgrades::hidden(ir::NodeId node, int input,
                             const ir::Literal& tensor, const void* data) {
  auto& [value, from] = hidden_[{node, input}];
  if (value && from == data) return value;
  value = graph_->add_value(Name(), ir::Graph::main_block(),
                            ir::ValueKind::kInitializer);
  graph_->mutable_value(value).tensor =
      graph_->model().arena.make<ir::Literal>(tensor);
  from = data;
  return value;
}

void Upgrades::view(ir::NodeId node, ir::Facts& facts, NewestForm& form) {
  form = {};
  for (const ir::Operand& use : graph_->inputs(node)) {
    form.inputs.push_back(use.value);
  }
  const auto attributes = graph_->node(node).attributes;
  form.attributes.assign(attributes.begin(), attributes.end());
  const std::string_view type = graph_->op(node).type;
  const ir::ValueId first = graph_->input(node, 0);
  if (std::ranges::any_of(kChanged, [&](const Changed& row) {
        return row.type == type && crosses(row.since);
      })) {
    form.readable = false;
  }
  // The attribute's value comes from the caller of the function: unknown here.
  if (std::ranges::any_of(
          attributes, [](const ir::Attribute& a) { return !a.ref.empty(); })) {
    form.readable = false;
    return;
  }
  if (type == "Dropout" && has_old_mask(node)) {
    form.readable = false;
  }
  upgrade_gone(type, form);
  if (crosses(kSoftmaxOnAxis) && is_in(kSoftmaxLike, type)) {
    const auto* axis =
        find_attribute({}, type, static_cast<int>(opset_), "axis");
    upgrade_softmax(axis, first, facts, form);
  }
  if (crosses(kBroadcasts) && is_in(kOnceExplicit, type)) {
    upgrade_broadcast(graph_->inputs(node), facts, form);
  }
  if (crosses(kCastByNumber) && type == "Cast") upgrade_cast(form);
  if (crosses(kTrainingSaid) && type == "BatchNormalization") {
    for (ir::ValueId more : graph_->outputs(node).subspan(
             std::min<std::size_t>(1, graph_->outputs(node).size()))) {
      if (more) form.readable = false;
    }
  }
  view_moved(node, facts, form);
  if (crosses(kSplitCounts) && type == "Split" && form.inputs.size() < 2) {
    form.attributes.push_back(
        int_attribute("num_outputs", graph_->node(node).output_count));
  }
}

// Whether a Dropout has a mask of another type, or with possibly other values.
bool Upgrades::has_old_mask(ir::NodeId node) const {
  if (graph_->outputs(node).size() < 2) return false;
  const ir::ValueId mask = graph_->output(node, 1);
  return mask && (crosses(kMaskIsBool) ||
                  (crosses(kMaskIsTrue) && graph_->reader_count(mask) > 0));
}

// Shows attributes that became inputs as inputs.
void Upgrades::view_moved(ir::NodeId node, ir::Facts& facts, NewestForm& form) {
  const auto attributes = graph_->node(node).attributes;
  const std::string_view type = graph_->op(node).type;
  const ir::ValueId first = graph_->input(node, 0);
  for (const Moved& row : kMoved) {
    if (row.type != type || !crosses(row.since)) continue;
    const ir::Attribute* a = find(attributes, row.attribute);
    if (a == nullptr) continue;
    auto tensor = moved_tensor(graph_->model().arena, row, *a,
                               element_type(facts, first));
    if (!tensor) {
      form.readable = false;
      continue;
    }
    const auto slot = static_cast<std::size_t>(row.input);
    if (form.inputs.size() <= slot) form.inputs.resize(slot + 1);
    form.inputs[slot] = hidden(node, row.input, *tensor, a);
    drop(form, row.attribute);
  }
}

}  // namespace ruleengine::ops
