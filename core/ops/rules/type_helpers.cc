#include "core/ops/rules/type_helpers.h"

#include <algorithm>

namespace ruleengine::ops {

using ir::Dim;

namespace {

// Refuses the node where its attribute `axis` is outside of the first input.
void need_axis(const NodeView& v) {
  const ir::Attribute* axis = v.attribute("axis");
  if (axis == nullptr || axis->kind != ir::AttributeKind::kInt) return;
  if (v.ranked(0) && !ir::place_of_axis(axis->i, v.rank(0))) {
    v.refuse("the axis is out of range");
  }
}

}  // namespace

void copy_type(const NodeView& v, std::size_t i, Inferred& out) {
  const ir::Type* t = v.input(i);
  if (t == nullptr) return;
  if (!t->is_tensor()) {
    out.whole = t;
    return;
  }
  out.elem = t->elem;
  if (t->has_shape) out.set_dims(t->dims);
}

bool all_known(std::span<const Dim> dims) {
  return std::ranges::find(dims, kUnknown) == dims.end();
}

void need_equal(const NodeView& v, Dim a, Dim b, std::string_view why) {
  if (a == kUnknown || b == kUnknown) return;
  if (v.dims().provably_different(a, b)) v.refuse(why);
}

bool like_first(const NodeView& v, Outputs out) {
  need_axis(v);
  copy_type(v, 0, out[0]);
  return true;
}

bool like_first_cast(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = v.elem(1);
  return true;
}

void need_rank(const NodeView& v, std::size_t input, std::size_t rank,
               std::string_view why) {
  if (v.ranked(input) && v.rank(input) != rank) v.refuse(why);
}

Dim broadcast_axis(const NodeView& v, Dim a, Dim b) {
  if (a == kUnknown || b == kUnknown) {
    const Dim other = a == kUnknown ? b : a;
    // A size other than 1 wins whatever the unknown one is.
    return other.known() && other.size() != 1 ? other : kUnknown;
  }
  if (const auto d = broadcast_dim(v.dims(), a, b)) return *d;
  if (!a.known() || !b.known()) return v.known().pair_unknown(a, b);
  v.refuse("the shapes do not broadcast");
  return kUnknown;
}

Dims broadcast_shapes(const NodeView& v, std::span<const Dim> a,
                      std::span<const Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims out(a);
  const std::size_t skip = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    out[skip + i] = broadcast_axis(v, out[skip + i], b[i]);
  }
  return out;
}

void set_broadcast(const NodeView& v, std::size_t from, std::size_t to,
                   Inferred& out) {
  Dims shape;
  for (std::size_t i = from; i < to; ++i) {
    if (!v.ranked(i)) return;
    shape = broadcast_shapes(v, shape, v.shape(i));
  }
  out.set_dims(shape);
}

bool broadcast_all(const NodeView& v, Outputs out) {
  if (v.op().domain.empty() && v.opset() < 7) return false;
  out[0].elem = v.elem(0);
  set_broadcast(v, 0, v.input_count(), out[0]);
  return true;
}

void meet(const ir::Type* a, const ir::Type* b, Inferred& out) {
  if (a == nullptr || b == nullptr) return;
  if (!a->is_tensor() || !b->is_tensor()) {
    if (same_type(*a, *b)) out.whole = a;
    return;
  }
  out.elem = a->elem != ir::DataType::kUndefined ? a->elem : b->elem;
  if (!a->has_shape || !b->has_shape || a->rank() != b->rank()) return;
  out.set_dims(a->dims);
  for (std::size_t i = 0; i < b->rank(); ++i) {
    if (out.dims[i] != b->dims[i]) out.dims[i] = kUnknown;
  }
}

std::vector<Dim> dims_of(std::span<const std::int64_t> sizes) {
  return {sizes.begin(), sizes.end()};
}

std::optional<std::vector<Dim>> shape_said(const NodeView& v, std::size_t i) {
  if (const auto all = v.elements(i)) {
    return std::vector<Dim>(all->begin(), all->end());
  }
  if (!v.ranked(i) || v.rank(i) != 1) return std::nullopt;
  const auto rank = known_count(v.shape(i));
  if (!rank || *rank > kMaxElements) return std::nullopt;
  return std::vector<Dim>(static_cast<std::size_t>(*rank), kUnknown);
}

}  // namespace ruleengine::ops
