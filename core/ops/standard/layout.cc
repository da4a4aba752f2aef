// Transpose and Concat, which for large constants are left to be done when
// somebody reads them.
#include <algorithm>
#include <numeric>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/index_math.h"
#include "core/ops/rules/lazy_tensors.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;

// Without `perm` the axes are turned round.
NodeView::MaybeInts turned_round(std::string_view attribute, std::size_t rank) {
  if (attribute != "perm") return std::nullopt;
  Ints axes(rank);
  std::iota(axes.rbegin(), axes.rend(), 0);
  return axes;
}

Ints permutation(const NodeView& v, std::size_t rank) {
  const auto perm = v.attribute_ints("perm");
  return perm ? *perm : *turned_round("perm", rank);
}

bool transpose(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  const auto x = v.shape(0);
  const Ints perm = permutation(v, x.size());
  if (!is_permutation(perm, x.size())) return false;
  out[0].set_dims(x);
  for (std::size_t i = 0; i < perm.size(); ++i) {
    out[0].dims[i] = x[*ir::place_of_axis(perm[i], x.size())];
  }
  return true;
}

MaybeElements transpose(const NodeView& v, std::size_t) {
  const auto data = v.elements(0);
  if (!data) return std::nullopt;
  const Ints shape = sizes_of(v.shape(0));
  const Ints perm = permutation(v, shape.size());
  if (!is_permutation(perm, shape.size())) return std::nullopt;
  return picked(*data, transposed_places(shape, perm));
}

// Only two axes can be swapped where a tensor is read.
Literals transpose(const NodeView& v) {
  const ir::Literal& t = *v.constant(0);
  const Ints perm = permutation(v, t.dims.size());
  if (!is_permutation(perm, t.dims.size())) return {};
  if (std::ranges::is_sorted(perm)) return {&t};
  if (perm.size() != 2 || !can_be_lazy(t)) return {};
  return {lazy_transpose(v.model(), t)};
}

// Of axes that must agree, the one that says most.
Dim agreed(const NodeView& v, Dim a, Dim b) {
  need_equal(v, a, b, "the joined values differ beside the axis");
  if (a.known()) return a;
  if (b.known()) return b;
  return v.dims().is_fresh(a) ? b : a;
}

bool concat(const NodeView& v, Outputs out) {
  if (v.input_count() == 0) return false;
  std::vector<Dim> dims;
  std::optional<std::size_t> axis;
  bool ranked = true;
  for (std::size_t i = 0; i < v.input_count(); ++i) {
    if (out[0].elem == ir::DataType::kUndefined) out[0].elem = v.elem(i);
    if (!v.ranked(i)) {
      ranked = false;
    } else if (!axis) {
      // The oldest schema says its default in words only.
      const bool unsaid = v.opset() < 4 && v.attribute("axis") == nullptr;
      axis = ir::place_of_axis(unsaid ? 1 : v.attribute_int("axis"), v.rank(i));
      if (!axis) return false;
      dims.assign(v.shape(i).begin(), v.shape(i).end());
    } else if (v.rank(i) != dims.size()) {
      return false;
    } else {
      for (std::size_t d = 0; d < dims.size(); ++d) {
        dims[d] = d == *axis ? v.dims().add(dims[d], v.shape(i)[d])
                             : agreed(v, dims[d], v.shape(i)[d]);
      }
    }
  }
  if (!axis) return true;
  if (!ranked) dims[*axis] = kUnknown;  // the rank holds for all of them
  out[0].set_dims(std::move(dims));
  return true;
}

MaybeElements concat(const NodeView& v, std::size_t) {
  const ir::Type* type = v.output_type(0);
  if (type == nullptr || !type->has_shape || type->rank() == 0) {
    return std::nullopt;
  }
  const auto axis = ir::place_of_axis(v.attribute_int("axis"), type->rank());
  if (!axis || !known_count(type->dims.first(*axis))) return std::nullopt;
  const std::int64_t outer = *known_count(type->dims.first(*axis));
  if (outer > kMaxElements) return std::nullopt;
  Elements out;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < v.input_count(); ++i) {
      const auto n = v.ranked(i) ? known_count(v.shape(i)) : std::nullopt;
      if (!n || *n > kMaxElements) return std::nullopt;
      const auto run = static_cast<std::size_t>(*n / outer);
      const auto part = v.elements(i);
      for (std::size_t k = 0; k < run; ++k) {
        const std::size_t at = static_cast<std::size_t>(o) * run + k;
        out.push_back(part && at < part->size() ? (*part)[at] : kUnknown);
      }
    }
  }
  return out;
}

Literals concat(const NodeView& v) {
  std::optional<Ints> dims;
  std::size_t axis = 0;
  std::vector<ir::LazyPart> parts;
  for (std::size_t i = 0; i < v.input_count(); ++i) {
    const ir::Literal* t = v.constant(i);
    if (t == nullptr || !count_of(t->dims) ||
        t->dtype != v.constant(0)->dtype) {
      return {};
    }
    if (t->element_count() > 0) parts.push_back({t, false});
    if (!dims) {
      const auto place =
          ir::place_of_axis(v.attribute_int("axis"), t->dims.size());
      if (!place) return {};
      axis = *place;
      dims.emplace(t->dims.begin(), t->dims.end());
      continue;
    }
    if (t->dims.size() != dims->size()) return {};
    for (std::size_t d = 0; d < dims->size(); ++d) {
      if (d == axis
              ? __builtin_add_overflow((*dims)[d], t->dims[d], &(*dims)[d])
              : t->dims[d] != (*dims)[d]) {
        return {};
      }
    }
  }
  if (!dims) return {};
  if (v.input_count() == 1) return {v.constant(0)};
  if (parts.empty()) {
    return {empty_tensor(v.model(), v.constant(0)->dtype, *dims)};
  }
  if (!count_of(*dims) || !can_be_lazy(*parts[0].tensor)) return {};
  const ir::Literal* joined = lazy_concat(v.model(), *dims, parts, axis);
  return joined != nullptr ? Literals{joined} : Literals();
}

bool transpose(Flow& flow, Port port, int axis) {
  const ir::Type* in = flow.types.inputs[0];
  if (!is_ranked(in) || !is_ranked(flow.types.outputs[0])) return false;
  const int rank = Flow::rank(in);
  const Ints perm = permutation(flow.node, in->rank());
  if (perm.size() != in->rank()) return false;
  for (int place = 0; place < rank; ++place) {
    const std::int64_t from = perm[Flow::at(place)];
    if ((port.output ? place : from) != axis) continue;
    flow.axes.inputs[0] = static_cast<int>(from);
    flow.axes.outputs[0] = place;
    return from >= 0 && from < rank;
  }
  return false;
}

bool concat(Flow& flow, Port, int axis) {
  const ir::Type* out = flow.types.outputs[0];
  if (!is_ranked(out) || Flow::from_front(flow.node.attribute_int("axis"),
                                          Flow::rank(out)) == axis) {
    return false;
  }
  flow.axes.outputs[0] = axis;
  for (std::size_t i = 0; i < flow.types.inputs.size(); ++i) {
    const ir::Type* in = flow.types.inputs[i];
    if (!is_ranked(in) || in->rank() != out->rank() ||
        in->dims[Flow::at(axis)] != out->dims[Flow::at(axis)]) {
      return false;
    }
    flow.axes.inputs[i] = axis;
  }
  return true;
}

constexpr OpRow kStandardLayout[] = {
    {.type = "Concat",
     .roles = {.folds = true,
               .folds_whole = true,
               .linear = true,
               .joins = true,
               .integers = true},
     .types = {concat},
     .elements = {concat, kAll, kAll},
     .views = concat,
     .axes = concat},
    {.type = "Transpose",
     .roles = {.folds = true,
               .total = true,
               .linear = true,
               .moves = true,
               .passes_quantizers = true,
               .integers = true},
     .types = {transpose},
     .elements = {transpose, 1},
     .views = transpose,
     .axes = transpose,
     .rank_default = turned_round},
};

}  // namespace

std::span<const OpRow> standard::layout() { return kStandardLayout; }

}  // namespace ruleengine::ops
