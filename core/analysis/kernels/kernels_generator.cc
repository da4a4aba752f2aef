// Kernels that make tensors: Constant, ConstantOfShape, Range, Shape, Size,
// Trilu.
#include <cmath>
#include <cstring>

#include "core/analysis/kernels/kernels.h"
#include "core/ir/shapes.h"

namespace ruleengine::analysis {
namespace {

using ir::Attribute;
using ir::AttributeKind;
using ir::DataType;

Folded one(const ir::Tensor* t) {
  if (t == nullptr) return std::nullopt;
  return std::vector<const ir::Tensor*>{t};
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
  ir::Tensor t;
  t.dtype = DataType::kString;
  t.storage = ir::Storage::kStrings;
  t.dims = model.arena.copy(std::span<const std::int64_t>(dims));
  t.strings = model.arena.copy(values);
  return one(model.arena.make<ir::Tensor>(t));
}

template <typename T>
std::int64_t size_of(const T& list) {
  return static_cast<std::int64_t>(list.size());
}

Folded constant(const Call& call) {
  for (const Attribute& a : call.graph.node(call.node).attributes) {
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
  const Attribute* a = call.graph.attribute(call.node, "value");
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
  const ir::Tensor* t = call.input(0);
  if (t == nullptr) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(t->dims.size());
  const auto place = [&](std::int64_t at) {
    at = std::max(at, -rank);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t from = place(call.attribute_int("start"));
  const std::int64_t end = call.graph.attribute(call.node, "end") == nullptr
                               ? rank
                               : call.attribute_int("end");
  const std::int64_t to = std::max(from, place(end));
  return whole(call, {to - from},
               Ints(t->dims.begin() + from, t->dims.begin() + to));
}

Folded size(const Call& call) {
  const ir::Tensor* t = call.input(0);
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
  const bool upper = call.attribute_int("upper") != 0;
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

constexpr KernelRow kKernels[] = {
    {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
    {"Range", range},       {"Shape", shape},
    {"Size", size},         {"Trilu", trilu},
};

}  // namespace

std::span<const KernelRow> generator_kernels() { return kKernels; }

}  // namespace ruleengine::analysis
