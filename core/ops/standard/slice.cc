// Ops that cut: Slice and Split.
#include <algorithm>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/index_math.h"
#include "core/ops/rules/lazy_tensors.h"
#include "core/ops/rules/type_helpers.h"
#include "core/ops/slice_math.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;

struct Bounds {
  std::vector<Dim> starts, ends;
  std::optional<std::vector<std::int64_t>> axes, steps;
};

// An input of bounds: numbers where it is constant, else elements.
std::optional<std::vector<Dim>> bounds_of(const NodeView& v, std::size_t i) {
  if (const auto ints = v.ints(i)) return dims_of(*ints);
  const auto elements = v.elements(i);
  if (!elements) return std::nullopt;
  return std::vector<Dim>(elements->begin(), elements->end());
}

std::optional<Bounds> slice_bounds(const NodeView& v) {
  Bounds out;
  if (v.opset() < 10) {
    const auto starts = v.attribute_ints("starts");
    const auto ends = v.attribute_ints("ends");
    if (!starts || !ends) return std::nullopt;
    out.starts = dims_of(*starts);
    out.ends = dims_of(*ends);
    out.axes = v.attribute_ints("axes");
    return out;
  }
  const auto starts = bounds_of(v, 1);
  const auto ends = bounds_of(v, 2);
  out.axes = v.ints(3);
  out.steps = v.ints(4);
  if (v.has_input(3) && !out.axes) return std::nullopt;
  // Bounds that are not known still leave the other axes alone.
  const std::size_t n = out.axes ? out.axes->size()
                        : starts ? starts->size()
                        : ends   ? ends->size()
                                 : 0;
  if (n == 0) return std::nullopt;
  const std::vector<Dim> unknown(n, kUnknown);
  out.starts = starts.value_or(unknown);
  out.ends = v.has_input(4) && !out.steps ? unknown : ends.value_or(unknown);
  return out;
}

bool slice(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  const auto bounds = slice_bounds(v);
  if (!bounds) {
    out[0].set_dims(std::vector<Dim>(v.rank(0), kUnknown));
    return true;
  }
  const std::size_t n = bounds->starts.size();
  if (bounds->ends.size() != n || n > v.rank(0) ||
      (bounds->axes && bounds->axes->size() != n) ||
      (bounds->steps && bounds->steps->size() != n)) {
    return false;
  }
  std::vector<Dim> dims(v.shape(0).begin(), v.shape(0).end());
  for (std::size_t i = 0; i < n; ++i) {
    const auto place = bounds->axes
                           ? ir::place_of_axis((*bounds->axes)[i], dims.size())
                           : std::optional(i);
    if (!place) return false;
    dims[*place] =
        slice_length(v.dims(), v.shape(0)[*place], bounds->starts[i],
                     bounds->ends[i], bounds->steps ? (*bounds->steps)[i] : 1);
  }
  out[0].set_dims(std::move(dims));
  return true;
}

// The places that a Slice takes of a tensor.
struct Box {
  Ints first, steps, dims;
};
std::optional<Box> box_of(const NodeView& v, const Ints& shape) {
  const auto starts = v.ints_of("starts", 1), ends = v.ints_of("ends", 2);
  const auto axes = v.ints_of("axes", 3), steps = v.ints_of("steps", 4);
  if (!starts || !ends || !axes || !steps || !*starts || !*ends) return {};
  const std::size_t rank = shape.size(), n = (*starts)->size();
  if ((*ends)->size() != n || n > rank || (*axes && (*axes)->size() != n) ||
      (*steps && (*steps)->size() != n)) {
    return {};
  }
  Box out{Ints(rank, 0), Ints(rank, 1), shape};
  for (std::size_t i = 0; i < n; ++i) {
    const auto place = ir::place_of_axis(
        *axes ? (**axes)[i] : static_cast<std::int64_t>(i), rank);
    const std::int64_t step = *steps ? (**steps)[i] : 1;
    if (!place) return {};
    const auto r = slice_range(shape[*place], (**starts)[i], (**ends)[i], step);
    if (!r) return {};
    out.first[*place] = r->start;
    out.steps[*place] = r->count > 1 ? step : 1;
    out.dims[*place] = r->count;
  }
  return out;
}

MaybeElements slice(const NodeView& v, std::size_t) {
  const auto data = v.elements(0);
  if (!data) return std::nullopt;
  const Ints shape = sizes_of(v.shape(0));
  const auto box = box_of(v, shape);
  if (!box) return std::nullopt;
  return picked(*data, box_places(shape, box->first, box->steps, box->dims));
}

// The block of these sizes that begins at `first`; nullptr where it cannot be
// cut where it is read.
const ir::Literal* cut(ir::Model& model, const ir::Literal* t,
                       const Ints& first, const Ints& dims) {
  const auto count = count_of(dims);
  if (count == 0) return empty_tensor(model, t->dtype, dims);
  if (std::ranges::equal(dims, t->dims)) return t;
  if (!count || !can_be_lazy(*t)) return nullptr;
  for (std::size_t axis = 0; t != nullptr && axis < dims.size(); ++axis) {
    t = lazy_slice(model, *t, axis, first[axis], dims[axis]);
  }
  return t;
}

Literals slice(const NodeView& v) {
  const ir::Literal* t = v.constant(0);
  if (!count_of(t->dims)) return {};
  const auto box = box_of(v, {t->dims.begin(), t->dims.end()});
  if (!box || std::ranges::count(box->steps, 1) != std::ssize(box->steps)) {
    return {};
  }
  const ir::Literal* block = cut(v.model(), t, box->first, box->dims);
  return block != nullptr ? Literals{block} : Literals();
}

// How the axis is divided, by attribute, input or number of outputs.
std::vector<Dim> split_sizes(const NodeView& v, Dim size, std::size_t n) {
  if (const auto fixed = v.attribute_ints("split")) return dims_of(*fixed);
  if (v.has_input(1)) {
    const auto sizes = v.elements(1);
    if (!sizes) return std::vector<Dim>(n, kUnknown);
    return {sizes->begin(), sizes->end()};
  }
  const auto parts = Dim(static_cast<std::int64_t>(n));
  const Dim each = v.dims().ceil_div(size, parts);
  std::vector<Dim> out(n, each);
  const Dim others = v.dims().mul(each, Dim(static_cast<std::int64_t>(n) - 1));
  out.back() =
      v.dims().exact_div(size, parts) ? each : v.dims().sub(size, others);
  return out;
}

bool split(const NodeView& v, Outputs out) {
  for (Inferred& o : out) o.elem = v.elem(0);
  if (!v.ranked(0)) return true;
  const auto place = ir::place_of_axis(v.attribute_int("axis"), v.rank(0));
  if (!place) return false;
  const auto sizes = split_sizes(v, v.shape(0)[*place], out.size());
  if (sizes.size() != out.size()) return false;
  if (all_known(sizes)) {
    Dim sum(0);
    for (Dim size : sizes) sum = v.dims().add(sum, size);
    need_equal(v, sum, v.shape(0)[*place], "the parts are not the whole");
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].set_dims(v.shape(0));
    out[i].dims[*place] =
        sizes[i].known() && sizes[i].size() < 0 ? kUnknown : sizes[i];
  }
  return true;
}

MaybeElements split(const NodeView& v, std::size_t output) {
  const auto data = v.elements(0);
  if (!data || v.rank(0) != 1) return std::nullopt;
  std::int64_t at = 0;
  // The types know how it is divided.
  for (std::size_t i = 0; i <= output; ++i) {
    const ir::Type* t = v.output_type(i);
    const auto n =
        t != nullptr && t->has_shape ? known_count(t->dims) : std::nullopt;
    if (!n || *n > static_cast<std::int64_t>(data->size()) - at) {
      return std::nullopt;
    }
    if (i == output) {
      const auto part = data->subspan(static_cast<std::size_t>(at),
                                      static_cast<std::size_t>(*n));
      return Elements(part.begin(), part.end());
    }
    at += *n;
  }
  return std::nullopt;
}

// The sizes as numbers, as many as outputs.
std::optional<Ints> sizes_of_parts(const NodeView& v, std::int64_t size) {
  const auto n = static_cast<std::int64_t>(v.output_count());
  if (v.attribute("split") != nullptr) return v.attribute_ints("split");
  if (const ir::Literal* t = v.constant(1)) {
    return ir::to_ints(*t, v.model().external.get(), n);
  }
  const std::int64_t each = (size + n - 1) / n;
  Ints out(static_cast<std::size_t>(n), each);
  out.back() = size - each * (n - 1);
  return out;
}

Literals split(const NodeView& v) {
  const ir::Literal* t = v.constant(0);
  const auto axis = ir::place_of_axis(v.attribute_int("axis"), t->dims.size());
  if (!axis || !count_of(t->dims)) return {};
  const auto sizes = sizes_of_parts(v, t->dims[*axis]);
  if (!sizes || sizes->size() != v.output_count()) return {};
  Literals out;
  Ints first(t->dims.size(), 0), dims(t->dims.begin(), t->dims.end());
  std::int64_t left = t->dims[*axis];
  for (std::int64_t size : *sizes) {
    if (size < 0 || size > left) return {};
    left -= size;
    dims[*axis] = size;
    out.push_back(cut(v.model(), t, first, dims));
    if (out.back() == nullptr) return {};
    first[*axis] += size;
  }
  return left == 0 ? out : Literals();
}

constexpr OpRow kStandardSlice[] = {
    {.type = "Slice",
     .roles = {.folds = true,
               .folds_whole = true,
               .picks = true,
               .moves = true,
               .passes_quantizers = true,
               .integers = true},
     .types = {slice, 2 | 4 | 8 | 16},
     .elements = {slice, 31},
     .views = slice},
    {.type = "Split",
     .roles =
         {.folds = true, .folds_whole = true, .moves = true, .integers = true},
     .types = {split, 2},
     .elements = {split, 3},
     .views = split},
};

}  // namespace

std::span<const OpRow> standard::slice() { return kStandardSlice; }

}  // namespace ruleengine::ops
