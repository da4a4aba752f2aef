#include "core/ops/node_view.h"

#include <algorithm>

namespace ruleengine::ops {

using ir::Attribute;
using ir::AttributeKind;

Known& nothing_known() {
  class Nothing final : public Known {
   public:
    const ir::Type* type(ir::ValueId) const override { return nullptr; }
    std::optional<std::span<const ir::Dim>> elements(
        ir::ValueId) const override {
      return std::nullopt;
    }
    const ir::Literal* constant(ir::ValueId) const override { return nullptr; }
    ir::Dim pair_unknown(ir::Dim, ir::Dim) override { return kUnknown; }
  };
  static Nothing nothing;
  return nothing;
}

bool NodeView::blocked() const {
  return call_ == nullptr &&
         std::ranges::any_of(attributes(),
                             [](const Attribute& a) { return !a.ref.empty(); });
}

bool NodeView::has_input(std::string_view name) const {
  const OpFacts* op = find_op(op_.domain, op_.type, static_cast<int>(opset_));
  for (std::size_t i = 0; op != nullptr && i < op->inputs.size(); ++i) {
    if (op->inputs[i].name == name) return has_input(i);
  }
  return false;
}

bool NodeView::ranked(std::size_t i) const {
  const ir::Type* t = input(i);
  return t != nullptr && t->is_tensor() && t->has_shape;
}

std::span<const ir::Dim> NodeView::shape(std::size_t i) const {
  return ranked(i) ? input(i)->dims : std::span<const ir::Dim>();
}

ir::DataType NodeView::elem(std::size_t i) const {
  const ir::Type* t = input(i);
  return t != nullptr && t->is_tensor() ? t->elem : ir::DataType::kUndefined;
}

std::optional<std::vector<std::int64_t>> NodeView::ints(std::size_t i) const {
  // Straight from a constant, since a Dim does not hold the lowest integers.
  if (const ir::Literal* t = constant(i)) {
    if (!ir::is_integer(t->dtype)) return std::nullopt;
    return ir::to_ints(*t, model().external.get(), kMaxElements);
  }
  const auto all = elements(i);
  if (!all) return std::nullopt;
  std::vector<std::int64_t> out;
  for (ir::Dim d : *all) {
    if (!d.known()) return std::nullopt;
    out.push_back(d.size());
  }
  return out;
}

const ir::Literal* NodeView::constant(std::size_t i) const {
  const ir::ValueId v = graph_.input(node_, i);
  if (!v) return nullptr;
  if (const ir::Literal* t = graph_.direct_constant(v)) return t;
  return known_.constant(v);
}

const Attribute* NodeView::attribute(std::string_view name) const {
  const Attribute* a = graph_.attribute(node_, name);
  if (a == nullptr || a->ref.empty()) return a;
  if (call_ == nullptr) return nullptr;
  for (const auto& list : {call_->attributes, call_->defaults}) {
    for (const Attribute& bound : list) {
      if (bound.name == a->ref) return &bound;
    }
  }
  return nullptr;
}

const FormalAttribute* NodeView::formal(std::string_view attribute) const {
  return find_attribute(op_.domain, op_.type, static_cast<int>(opset_),
                        attribute);
}

std::int64_t NodeView::attribute_int(std::string_view name) const {
  const Attribute* a = attribute(name);
  const bool said = a != nullptr && a->kind == AttributeKind::kInt;
  return said ? a->i : int_of(nullptr, formal(name));
}

float NodeView::attribute_float(std::string_view name) const {
  const Attribute* a = attribute(name);
  if (a != nullptr && a->kind == AttributeKind::kFloat) return a->f;
  const FormalAttribute* usual = formal(name);
  return usual == nullptr ? 0 : usual->default_float;
}

std::vector<float> NodeView::attribute_floats(std::string_view name) const {
  std::span<const float> floats;
  if (const Attribute* a = attribute(name)) {
    floats = a->floats;
  } else if (const FormalAttribute* usual = formal(name)) {
    floats = usual->default_floats;
  }
  return {floats.begin(), floats.end()};
}

std::string_view NodeView::attribute_string(std::string_view name) const {
  return string_of(attribute(name), formal(name));
}

NodeView::MaybeInts NodeView::attribute_ints(std::string_view name) const {
  std::span<const std::int64_t> ints;
  if (const Attribute* a = attribute(name)) {
    if (a->kind != AttributeKind::kInts) return std::nullopt;
    ints = a->ints;
  } else {
    const FormalAttribute* usual = formal(name);
    if (usual == nullptr || usual->default_ints.empty()) return std::nullopt;
    ints = usual->default_ints;
  }
  return std::vector<std::int64_t>(ints.begin(), ints.end());
}

std::optional<NodeView::MaybeInts> NodeView::ints_of(std::string_view name,
                                                     std::size_t i) const {
  if (attribute(name) != nullptr) return attribute_ints(name);
  if (!has_input(i)) return MaybeInts();
  MaybeInts read = ints(i);
  if (!read) return std::nullopt;
  return read;
}

}  // namespace ruleengine::ops
