// Ops that make tensors from attributes, shapes or a few numbers.
#include <algorithm>
#include <cmath>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/fold_helpers.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::Attribute;
using ir::AttributeKind;
using ir::DataType;
using ir::Dim;

void from_tensor(const ir::Literal& t, Inferred& out) {
  out.elem = t.dtype;
  std::vector<Dim> dims;
  for (std::int64_t d : t.dims) dims.push_back(Dim(d));
  out.set_dims(std::move(dims));
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
        out[0].set_dims(std::vector<Dim>{count(a->floats.size())});
        return true;
      case AttributeKind::kInts:
        out[0].set_dims(std::vector<Dim>{count(a->ints.size())});
        return true;
      case AttributeKind::kStrings:
        out[0].set_dims(std::vector<Dim>{count(a->strings.size())});
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
  if (const auto shape = v.elements(0)) {
    std::vector<Dim> dims(shape->begin(), shape->end());
    for (Dim& d : dims) {
      if (d.known() && d.size() < 0) d = kUnknown;
    }
    out[0].set_dims(std::move(dims));
  } else if (v.ranked(0) && v.rank(0) == 1) {
    const auto n = known_count(v.shape(0));
    if (n && *n <= kMaxElements) {
      out[0].set_dims(std::vector<Dim>(static_cast<std::size_t>(*n), kUnknown));
    }
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

Folded whole(const Call& call, Ints dims, Ints values) {
  Numbers n;
  n.dtype = DataType::kInt64;
  n.dims = std::move(dims);
  n.ints = std::move(values);
  return one(write_numbers(call.model(), n));
}

Folded real(const Call& call, Ints dims, std::vector<double> values) {
  Numbers n;
  n.dtype = DataType::kFloat;
  n.real = true;
  n.dims = std::move(dims);
  n.reals = std::move(values);
  return one(write_numbers(call.model(), n));
}

Folded strings(const Call& call, Ints dims,
               std::span<const std::string_view> values) {
  ir::Model& model = call.model();
  ir::Literal t;
  t.dtype = DataType::kString;
  t.storage = ir::Storage::kStrings;
  t.dims = model.arena.copy(std::span<const std::int64_t>(dims));
  t.strings = model.arena.copy(values);
  return one(model.arena.make<ir::Literal>(t));
}

template <typename T>
std::int64_t size_of(const T& list) {
  return static_cast<std::int64_t>(list.size());
}

Folded constant(const Call& call) {
  for (const Attribute& a : call.node.attributes()) {
    switch (a.kind) {
      case AttributeKind::kTensor:
        return a.tensors.empty() ? std::nullopt : one(a.tensors[0]);
      case AttributeKind::kFloat:
        return real(call, {}, {a.f});
      case AttributeKind::kInt:
        return whole(call, {}, {a.i});
      case AttributeKind::kString:
        return strings(call, {}, {&a.s, 1});
      case AttributeKind::kFloats:
        return real(call, {size_of(a.floats)},
                    {a.floats.begin(), a.floats.end()});
      case AttributeKind::kInts:
        return whole(call, {size_of(a.ints)}, {a.ints.begin(), a.ints.end()});
      case AttributeKind::kStrings:
        return strings(call, {size_of(a.strings)}, a.strings);
      default:
        break;
    }
  }
  return std::nullopt;
}

Folded constant_of_shape(const Call& call) {
  const auto dims = call.ints(0);
  if (!dims) return std::nullopt;
  const auto count = count_of(*dims, call.limit);
  if (!count) return std::nullopt;
  const Attribute* a = call.node.attribute("value");
  if (a == nullptr || a->tensors.empty()) {
    return real(call, *dims,
                std::vector<double>(static_cast<std::size_t>(*count)));
  }
  auto value = read_numbers(call, a->tensors[0]);
  if (!value || value->size() != 1) return std::nullopt;
  value->dims = *dims;
  if (value->real) {
    value->reals.assign(static_cast<std::size_t>(*count), value->reals[0]);
  } else {
    value->ints.assign(static_cast<std::size_t>(*count), value->ints[0]);
  }
  return one(write_numbers(call.model(), *value));
}

std::optional<Ints> whole_range(std::int64_t start, std::int64_t limit,
                                std::int64_t delta, std::int64_t most) {
  std::int64_t span = 0;
  if (delta == 0 || __builtin_sub_overflow(limit, start, &span)) {
    return std::nullopt;
  }
  Ints out;
  if (span == 0 || (span < 0) != (delta < 0)) return out;
  // Rounded away from zero; neither division nor the walk can overflow, since
  // every element lies between start and limit.
  const std::int64_t count =
      delta == -1 ? -span : span / delta + (span % delta != 0 ? 1 : 0);
  if (count > most) return std::nullopt;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(start + i * delta);
  return out;
}

Folded range(const Call& call) {
  const auto start = read_numbers(call, call.input(0));
  const auto limit = read_numbers(call, call.input(1));
  const auto delta = read_numbers(call, call.input(2));
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 ||
      delta->size() != 1 || start->dtype != limit->dtype ||
      start->dtype != delta->dtype) {
    return std::nullopt;
  }
  Numbers out;
  out.dtype = start->dtype;
  out.real = start->real;
  if (!out.real) {
    const auto all =
        whole_range(start->ints[0], limit->ints[0], delta->ints[0], call.limit);
    if (!all) return std::nullopt;
    out.ints = *all;
  } else {
    const double s = start->reals[0], d = delta->reals[0];
    const double n = std::ceil((limit->reals[0] - s) / d);
    if (!(n <= static_cast<double>(call.limit))) return std::nullopt;
    for (std::int64_t i = 0; static_cast<double>(i) < n; ++i) {
      const double far = round_to(out.dtype, static_cast<double>(i) * d);
      out.reals.push_back(s + far);
    }
  }
  out.dims = {static_cast<std::int64_t>(out.size())};
  return one(write_numbers(call.model(), out));
}

Folded shape(const Call& call) {
  const ir::Literal* t = call.input(0);
  if (t == nullptr) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(t->dims.size());
  const auto place = [&](std::int64_t at) {
    at = std::max(at, -rank);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t from = place(call.node.attribute_int("start"));
  const std::int64_t end = call.node.attribute("end") == nullptr
                               ? rank
                               : call.node.attribute_int("end");
  const std::int64_t to = std::max(from, place(end));
  return whole(call, {to - from},
               Ints(t->dims.begin() + from, t->dims.begin() + to));
}

Folded size(const Call& call) {
  const ir::Literal* t = call.input(0);
  const auto count = t != nullptr ? count_of(t->dims) : std::nullopt;
  return count ? whole(call, {}, {*count}) : std::nullopt;
}

Folded trilu(const Call& call) {
  auto n = read_numbers(call, call.input(0));
  if (!n || n->dims.size() < 2) return std::nullopt;
  std::int64_t k = 0;
  if (call.input(1) != nullptr) {
    const auto given = call.ints(1);
    if (!given || given->size() != 1) return std::nullopt;
    k = (*given)[0];
  }
  const bool upper = call.node.attribute_int("upper") != 0;
  const std::int64_t columns = n->dims[n->dims.size() - 1];
  const std::int64_t rows = n->dims[n->dims.size() - 2];
  k = std::clamp(k, -rows - 1, columns + 1);
  for (std::size_t i = 0; i < n->size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t column = at % columns;
    const std::int64_t row = at / columns % rows;
    const bool keep = upper ? column - row >= k : column - row <= k;
    if (keep) continue;
    if (n->real) {
      n->reals[i] = 0;
    } else {
      n->ints[i] = 0;
    }
  }
  return one(write_numbers(call.model(), *n));
}

constexpr OpRow kStandardGenerators[] = {
    {.type = "Constant",
     .roles = {.folds_whole = true, .free = true},
     .types = {constant},
     .fold = constant},
    {.type = "ConstantOfShape",
     .roles = {.makes = true},
     .types = {constant_of_shape, 1},
     .elements = {constant_of_shape},
     .fold = constant_of_shape},
    {.type = "Range",
     .roles = {.makes = true},
     .types = {range, 1 | 2 | 4},
     .elements = {range, 7},
     .fold = range},
    {.type = "Shape",
     .roles = {.free = true, .measures = true},
     .types = {shape},
     .elements = {shape, 0, 1},
     .fold = shape},
    {.type = "Size",
     .roles = {.free = true, .measures = true},
     .types = {size},
     .elements = {size, 0, 1},
     .fold = size},
    {.type = "Trilu", .types = {like_first}, .fold = trilu},
};

}  // namespace

std::span<const OpRow> standard::generators() { return kStandardGenerators; }

}  // namespace ruleengine::ops
