// Ops that make tensors from attributes, shapes or a few numbers.
#include <algorithm>
#include <cmath>

#include "core/ir/small_tensor.h"
#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::Attribute;
using ir::AttributeKind;
using ir::DataType;
using ir::Dim;

void from_tensor(const ir::Literal& t, Inferred& out) {
  out.elem = t.dtype;
  out.set_dims(dims_of(t.dims));
}

Dim count(std::size_t n) { return Dim(static_cast<std::int64_t>(n)); }

bool constant(const NodeView& v, Outputs out) {
  for (const Attribute& attribute : v.attributes()) {
    const Attribute* a = v.attribute(attribute.name);
    if (a == nullptr) continue;
    const bool is_float =
        a->kind == AttributeKind::kFloat || a->kind == AttributeKind::kFloats;
    const bool is_int =
        a->kind == AttributeKind::kInt || a->kind == AttributeKind::kInts;
    out[0].elem = is_float ? DataType::kFloat
                  : is_int ? DataType::kInt64
                           : DataType::kString;
    switch (a->kind) {
      case AttributeKind::kTensor:
        if (a->tensors.empty()) return false;
        from_tensor(*a->tensors[0], out[0]);
        return true;
      case AttributeKind::kFloat:
      case AttributeKind::kInt:
      case AttributeKind::kString:
        out[0].set_dims(std::vector<Dim>());
        return true;
      case AttributeKind::kFloats:
      case AttributeKind::kInts:
      case AttributeKind::kStrings:
        // It has one of the lists.
        out[0].set_dims(std::vector<Dim>{
            count(a->floats.size() + a->ints.size() + a->strings.size())});
        return true;
      default:
        out[0] = {};
    }
  }
  return false;
}

bool constant_of_shape(const NodeView& v, Outputs out) {
  out[0].elem = DataType::kFloat;
  const Attribute* value = v.attribute("value");
  if (value != nullptr && !value->tensors.empty()) {
    out[0].elem = value->tensors[0]->dtype;
  }
  if (auto dims = shape_said(v, 0)) {
    for (Dim& d : *dims) {
      if (d.known() && d.size() < 0) d = kUnknown;
    }
    out[0].set_dims(*dims);
  }
  return true;
}

std::optional<double> number(const NodeView& v, std::size_t i) {
  const ir::Literal* t = v.constant(i);
  if (t == nullptr) return std::nullopt;
  const auto all = ir::to_doubles(*t, v.model().external.get(), 1);
  if (!all || all->size() != 1) return std::nullopt;
  return (*all)[0];
}

Dim range_length(const NodeView& v) {
  const auto start = v.elements(0), limit = v.elements(1),
             delta = v.elements(2);
  if (start && limit && delta && start->size() == 1 && limit->size() == 1 &&
      delta->size() == 1) {
    const Dim s = (*start)[0], l = (*limit)[0], d = (*delta)[0];
    if (s == kUnknown || l == kUnknown || !d.known() || d == Dim(0)) {
      return kUnknown;
    }
    // ceil((limit - start) / delta), not below 0.
    return v.dims().max(v.dims().ceil_div(v.dims().sub(l, s), d), Dim(0));
  }
  if (!ir::is_float(v.elem(0))) return kUnknown;
  const auto s = number(v, 0), l = number(v, 1), d = number(v, 2);
  if (!s || !l || !d || *d == 0) return kUnknown;
  const double n = std::ceil((*l - *s) / *d);
  if (!(n < 9e15)) return kUnknown;
  return Dim(n > 0 ? static_cast<std::int64_t>(n) : 0);
}

bool range(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  out[0].set_dims(std::vector<Dim>{range_length(v)});
  return true;
}

// Shape's [start, end) of input 0, which has a rank, clamped.
std::pair<std::size_t, std::size_t> shape_range(const NodeView& v) {
  const auto rank = static_cast<std::int64_t>(v.rank(0));
  const auto place = [&](std::int64_t at) {
    if (at < 0) at += rank;
    return std::clamp<std::int64_t>(at, 0, rank);
  };
  const std::int64_t from = place(std::max(v.attribute_int("start"), -rank));
  const std::int64_t end =
      v.attribute("end") == nullptr ? rank : v.attribute_int("end");
  const std::int64_t to = place(std::max(end, -rank));
  return {static_cast<std::size_t>(from),
          static_cast<std::size_t>(std::max(from, to))};
}

bool shape(const NodeView& v, Outputs out) {
  out[0].elem = DataType::kInt64;
  Dim n = kUnknown;
  if (v.ranked(0)) {
    const auto [from, to] = shape_range(v);
    n = count(to - from);
  }
  out[0].set_dims(std::vector<Dim>{n});
  return true;
}

bool size(const NodeView&, Outputs out) {
  out[0].elem = DataType::kInt64;
  out[0].set_dims(std::vector<Dim>());
  return true;
}

MaybeElements shape(const NodeView& v, std::size_t) {
  if (!v.ranked(0)) return std::nullopt;
  const auto [from, to] = shape_range(v);
  const auto dims = v.shape(0).subspan(from, to - from);
  return Elements(dims.begin(), dims.end());
}

MaybeElements size(const NodeView& v, std::size_t) {
  if (!v.ranked(0)) return std::nullopt;
  return Elements{element_count(v.dims(), v.shape(0))};
}

MaybeElements constant_of_shape(const NodeView& v, std::size_t) {
  const auto n = wanted(v);
  if (!n) return std::nullopt;
  const ir::Attribute* a = v.attribute("value");
  if (a == nullptr || a->tensors.empty()) return std::nullopt;
  const auto value = ir::to_ints(*a->tensors[0], nullptr, 1);
  if (!value || value->size() != 1 || !Dim((*value)[0]).known()) {
    return std::nullopt;
  }
  return Elements(*n, Dim((*value)[0]));
}

MaybeElements range(const NodeView& v, std::size_t) {
  const auto n = wanted(v);
  const auto start = v.elements(0), delta = v.elements(2);
  if (!n || !start || !delta || start->size() != 1 || delta->size() != 1 ||
      (*start)[0] == kUnknown || (*delta)[0] == kUnknown) {
    return std::nullopt;
  }
  Elements out;
  Dim at = (*start)[0];
  for (std::size_t i = 0; i < *n; ++i) {
    out.push_back(at);
    at = v.dims().add(at, (*delta)[0]);
  }
  return out;
}

// A tensor of an attribute's value: of no axes where it is one, else of one.
template <typename T>
Literals tensor_of(const NodeView& v, DataType dtype, std::span<const T> values,
                   bool is_list) {
  Arena& arena = v.model().arena;
  ir::Literal t = ir::vector_tensor(arena, dtype, values);
  if (!is_list) t.dims = {};
  return {arena.make<ir::Literal>(t)};
}

Literals strings_of(const NodeView& v, std::span<const std::string_view> values,
                    bool is_list) {
  Arena& arena = v.model().arena;
  const auto size = static_cast<std::int64_t>(values.size());
  ir::Literal t;
  t.dtype = DataType::kString;
  t.storage = ir::Storage::kStrings;
  if (is_list) t.dims = arena.copy(std::span(&size, 1));
  t.strings = arena.copy(values);
  return {arena.make<ir::Literal>(t)};
}

Literals constant(const NodeView& v) {
  for (const Attribute& a : v.attributes()) {
    switch (a.kind) {
      case AttributeKind::kTensor:
        return a.tensors.empty() ? Literals() : Literals{a.tensors[0]};
      case AttributeKind::kFloat:
        return tensor_of(v, DataType::kFloat, std::span(&a.f, 1), false);
      case AttributeKind::kInt:
        return tensor_of(v, DataType::kInt64, std::span(&a.i, 1), false);
      case AttributeKind::kString:
        return strings_of(v, std::span(&a.s, 1), false);
      case AttributeKind::kFloats:
        return tensor_of(v, DataType::kFloat, a.floats, true);
      case AttributeKind::kInts:
        return tensor_of(v, DataType::kInt64, a.ints, true);
      case AttributeKind::kStrings:
        return strings_of(v, a.strings, true);
      default:
        break;
    }
  }
  return {};
}

constexpr OpRow kStandardGenerators[] = {
    {.type = "Constant",
     .roles = {.folds_whole = true, .free = true},
     .types = {constant},
     .views = constant},
    {.type = "ConstantOfShape",
     .roles = {.folds = true, .makes = true},
     .types = {constant_of_shape, 1},
     .elements = {constant_of_shape}},
    {.type = "Range",
     .roles = {.folds = true, .makes = true},
     .types = {range, 1 | 2 | 4},
     .elements = {range, 7}},
    {.type = "Shape",
     .roles = {.free = true, .measures = true},
     .types = {shape},
     .elements = {shape, 0, 1}},
    {.type = "Size",
     .roles = {.free = true, .measures = true},
     .types = {size},
     .elements = {size, 0, 1}},
    {.type = "Trilu", .roles = {.folds = true}, .types = {like_first}},
};

}  // namespace

std::span<const OpRow> standard::generators() { return kStandardGenerators; }

}  // namespace ruleengine::ops
