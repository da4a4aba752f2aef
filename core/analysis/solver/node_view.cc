#include "core/analysis/solver/node_view.h"

#include "core/analysis/solver/solver.h"

namespace ruleengine::analysis {

using ir::Attribute;
using ir::AttributeKind;

NodeView::NodeView(Solver& solver, ir::NodeId node)
    : solver_(solver),
      node_(node),
      op_(solver.graph().op(node)),
      opset_(solver.opset(op_.domain)) {}

bool NodeView::blocked() const {
  if (solver_.call() != nullptr) return false;
  for (const Attribute& a : graph().node(node_).attributes) {
    if (!a.ref.empty()) return true;
  }
  return false;
}

ir::DimTable& NodeView::dims() const { return solver_.model().dims; }
ir::Graph& NodeView::graph() const { return solver_.graph(); }

std::size_t NodeView::input_count() const {
  return graph().inputs(node_).size();
}
std::size_t NodeView::output_count() const {
  return graph().outputs(node_).size();
}
bool NodeView::has_input(std::size_t i) const {
  return graph().input(node_, i).valid();
}
bool NodeView::has_output(std::size_t i) const {
  return graph().output(node_, i).valid();
}

const ir::Type* NodeView::input(std::size_t i) const {
  return solver_.known(graph().input(node_, i)).type;
}

const ir::Type* NodeView::output_type(std::size_t i) const {
  return solver_.known(graph().output(node_, i)).type;
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

std::optional<std::span<const ir::Dim>> NodeView::elements(
    std::size_t i) const {
  const ir::ValueId v = graph().input(node_, i);
  const Memo& memo = solver_.known(v);
  if (!v || memo.elements == nullptr || !solver_.done(v, Ask::kElements)) {
    return std::nullopt;
  }
  return memo.element_span();
}

std::optional<std::vector<std::int64_t>> NodeView::ints(std::size_t i) const {
  // Straight from a constant, since a Dim does not hold the lowest integers.
  if (const ir::Tensor* t = constant(i)) {
    if (!ir::is_integer(t->dtype)) return std::nullopt;
    return ir::to_ints(*t, solver_.model().external.get(), kMaxElements);
  }
  const auto known = elements(i);
  if (!known) return std::nullopt;
  std::vector<std::int64_t> out;
  for (ir::Dim d : *known) {
    if (!d.known()) return std::nullopt;
    out.push_back(d.size());
  }
  return out;
}

const ir::Tensor* NodeView::constant(std::size_t i) const {
  const ir::ValueId v = graph().input(node_, i);
  if (!v) return nullptr;
  if (const ir::Tensor* t = graph().direct_constant(v)) return t;
  return solver_.done(v, Ask::kConstant) ? solver_.known(v).constant : nullptr;
}

const Attribute* NodeView::attribute(std::string_view name) const {
  const Attribute* a = graph().attribute(node_, name);
  if (a == nullptr || a->ref.empty()) return a;
  const CallContext* call = solver_.call();
  if (call == nullptr) return nullptr;
  for (const auto& list : {call->attributes, call->defaults}) {
    for (const Attribute& bound : list) {
      if (bound.name == a->ref) return &bound;
    }
  }
  return nullptr;
}

const ir::FormalAttribute* NodeView::formal(std::string_view attribute) const {
  return ir::find_attribute(op_.domain, op_.type, static_cast<int>(opset_),
                            attribute);
}

std::int64_t NodeView::attribute_int(std::string_view name) const {
  return ir::int_of(attribute(name), formal(name));
}

std::string_view NodeView::attribute_string(std::string_view name) const {
  return ir::string_of(attribute(name), formal(name));
}

NodeView::MaybeInts NodeView::attribute_ints(std::string_view name) const {
  const Attribute* a = attribute(name);
  if (a == nullptr || a->kind != AttributeKind::kInts) return std::nullopt;
  return std::vector<std::int64_t>(a->ints.begin(), a->ints.end());
}

std::optional<NodeView::MaybeInts> NodeView::ints_of(std::string_view name,
                                                     std::size_t i) const {
  if (attribute(name) != nullptr) return attribute_ints(name);
  if (!has_input(i)) return MaybeInts();
  MaybeInts known = ints(i);
  if (!known) return std::nullopt;
  return known;
}

}  // namespace ruleengine::analysis
