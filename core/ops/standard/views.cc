// Ops that keep the elements in their order and change the shape.
#include <algorithm>
#include <utility>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/index_math.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;
using ir::Type;

// What is left of `total` for one axis beside `others`; unknown when either
// rests on something that is.
Dim remaining(ir::DimTable& dims, Dim total, Dim others) {
  if (others == Dim(0)) return kUnknown;
  if (const auto exact = dims.exact_div(total, others)) return *exact;
  // It divides when the model runs, so the floor is the quotient.
  return dims.floor_div(total, others);
}

bool is_positive(ir::DimTable& dims, Dim d) {
  return dims.nonnegative(dims.sub(d, Dim(1)));
}

// The axis that the others determine: a -1, or the only unknown one.
std::optional<std::size_t> open_axis(const std::vector<Dim>& target) {
  std::optional<std::size_t> at;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] != Dim(-1) && target[i] != kUnknown) continue;
    if (at) return std::nullopt;
    at = i;
  }
  return at;
}

// Where `size` is 0, so is `of`: it divides that, or each factor of it does.
bool takes_along(ir::DimTable& dims, Dim size, Dim of) {
  if (dims.exact_div(of, size)) return true;
  const auto products = dims.products(size);
  return products.size() == 1 && products[0].coefficient != 0 &&
         std::ranges::all_of(products[0].atoms, [&](Dim atom) {
           return dims.exact_div(of, atom).has_value();
         });
}

// How far an axis has the size that was asked for, if that may be 0, which
// copies the axis of the input.
enum class Itself : std::uint8_t {
  // Then the axis of the input is 0 as well; or there is none, and the model
  // cannot run.
  kAlways,
  // Then there are no elements to fill any other size with. A second size of 0
  // undoes that: [B,4,S,8] as (B,S,32) is [0,4,32] for B = S = 0.
  kWithOneZero,
  kUnknown,
};

Itself means_itself(const NodeView& v, Dim size, std::size_t axis) {
  if (size.known() || size == kUnknown) return Itself::kAlways;
  ir::DimTable& dims = v.dims();
  if (is_positive(dims, size)) return Itself::kAlways;
  if (!v.ranked(0)) return Itself::kUnknown;
  if (axis >= v.rank(0)) return Itself::kAlways;
  if (takes_along(dims, size, v.shape(0)[axis])) return Itself::kAlways;
  return takes_along(dims, size, element_count(dims, v.shape(0)))
             ? Itself::kWithOneZero
             : Itself::kUnknown;
}

// A size that was asked for is also what the elements leave beside the others.
void equate_rest(const NodeView& v, std::span<const Dim> target) {
  if (!v.ranked(0) || !all_known(target)) return;
  ir::DimTable& dims = v.dims();
  const Dim count = element_count(dims, v.shape(0));
  for (std::size_t i = v.rank(0); i < target.size(); ++i) {
    Dim others(1);
    for (std::size_t k = 0; k < target.size(); ++k) {
      if (k != i) others = dims.mul(others, target[k]);
    }
    if (target[i].known() || !is_positive(dims, others)) continue;
    const auto rest = dims.exact_div(count, others);
    if (rest && *rest != target[i]) v.known().equate(target[i], *rest);
  }
}

std::vector<Dim> reshaped(const NodeView& v, std::span<const Dim> wanted) {
  const bool allow_zero = v.attribute_int("allowzero") != 0;
  std::vector<Dim> target(wanted.begin(), wanted.end());
  for (std::size_t i = 0; i < target.size() && !allow_zero; ++i) {
    if (target[i] == Dim(0)) {
      const bool copies = v.ranked(0) && i < v.rank(0);
      if (v.ranked(0) && !copies) v.refuse("a 0 stands for no axis");
      target[i] = copies ? v.shape(0)[i] : kUnknown;
      continue;
    }
    const Itself itself = means_itself(v, target[i], i);
    if (itself == Itself::kUnknown) target[i] = kUnknown;
    if (itself == Itself::kWithOneZero) v.doubt();
  }
  if (const auto at = open_axis(target)) {
    Dim others(1);
    for (std::size_t i = 0; i < target.size(); ++i) {
      if (i != *at) others = v.dims().mul(others, target[i]);
    }
    if (!allow_zero && target[*at] == Dim(-1) && others == Dim(0)) {
      v.refuse("a -1 stands beside a size of 0");
    }
    // Where one of the others is 0, any size is right for an unknown one.
    const bool follows = target[*at] == Dim(-1) ||
                         (others != kUnknown && is_positive(v.dims(), others));
    target[*at] = kUnknown;
    if (v.ranked(0) && follows) {
      target[*at] =
          remaining(v.dims(), element_count(v.dims(), v.shape(0)), others);
    }
  }
  for (Dim& d : target) {
    if (d.known() && d.size() < 0) d = kUnknown;
  }
  equate_rest(v, target);
  return target;
}

bool reshape(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (v.opset() < 5) {
    const auto shape = v.attribute_ints("shape");
    if (!shape) return false;
    out[0].set_dims(reshaped(v, dims_of(*shape)));
    return true;
  }
  if (const auto wanted = v.elements(1)) {
    out[0].set_dims(reshaped(v, *wanted));
    if (v.ranked(0) && all_known(out[0].dims)) {
      need_equal(v, element_count(v.dims(), v.shape(0)),
                 element_count(v.dims(), out[0].dims),
                 "the elements are more or fewer than before");
    }
  } else if (const auto unknown = shape_said(v, 1)) {
    out[0].set_dims(*unknown);
  }
  return true;
}

bool flatten(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  const auto rank = static_cast<std::int64_t>(v.rank(0));
  std::int64_t axis = v.attribute_int("axis");
  if (axis < -rank || axis > rank) return false;
  if (axis < 0) axis += rank;
  const auto at = static_cast<std::size_t>(axis);
  out[0].set_dims(
      std::vector<Dim>{element_count(v.dims(), v.shape(0).first(at)),
                       element_count(v.dims(), v.shape(0).subspan(at))});
  return true;
}

bool squeeze(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  const auto axes = v.ints_of("axes", 1);
  if (!v.ranked(0) || !axes) return true;
  std::vector<Dim> dims;
  if (!*axes) {
    // Every axis of size 1: known only when no axis may be one.
    for (Dim d : v.shape(0)) {
      if (!d.known() && !v.dims().provably_different(d, Dim(1))) return true;
      if (d != Dim(1)) dims.push_back(d);
    }
  } else {
    const auto drop = flags(**axes, v.rank(0));
    if (!drop) return false;
    for (std::size_t i = 0; i < v.rank(0); ++i) {
      if (!(*drop)[i]) {
        dims.push_back(v.shape(0)[i]);
      } else {
        need_equal(v, v.shape(0)[i], Dim(1), "the axis is wider than 1");
      }
    }
  }
  out[0].set_dims(std::move(dims));
  return true;
}

bool unsqueeze(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  const auto axes = v.ints_of("axes", 1);
  if (!v.ranked(0) || !axes || !*axes) return true;
  const auto added = flags(**axes, v.rank(0) + (*axes)->size());
  if (!added || std::ranges::count(*added, true) != std::ssize(**axes)) {
    return false;
  }
  std::vector<Dim> dims;
  auto next = v.shape(0).begin();
  for (const bool is_new : *added) {
    dims.push_back(is_new ? Dim(1) : *next++);
  }
  out[0].set_dims(std::move(dims));
  return true;
}

MaybeElements unmoved(const NodeView& v, std::size_t) { return copied(v, 0); }

// The first input in another shape: the same bytes. Only a lazy tensor is bound
// to the dims of its parts.
Literals reshaped(const NodeView& v, const Ints& dims) {
  const ir::Literal& t = *v.constant(0);
  if (count_of(dims) != count_of(t.dims)) return {};
  if (std::ranges::equal(t.dims, dims)) return {&t};
  if (t.storage == ir::Storage::kLazy) return {};
  Arena& arena = v.model().arena;
  ir::Literal view = t;
  view.dims = arena.copy(std::span<const std::int64_t>(dims));
  view.proto = {};
  return {arena.make<ir::Literal>(view)};
}

Literals reshape(const NodeView& v) {
  const auto in = v.constant(0)->dims;
  auto target = v.ints(1);
  if (!target) return {};
  const bool allow_zero = v.attribute_int("allowzero") != 0;
  std::optional<std::size_t> open;
  Ints others;
  for (std::size_t i = 0; i < target->size(); ++i) {
    std::int64_t& d = (*target)[i];
    if (d == 0 && !allow_zero) {
      if (i >= in.size()) return {};
      d = in[i];
    }
    if (d != -1) {
      others.push_back(d);
    } else if (std::exchange(open, i)) {
      return {};
    }
  }
  if (open) {
    const auto total = count_of(in), rest = count_of(others);
    if (!total || !rest || *rest == 0 || *total % *rest != 0) return {};
    (*target)[*open] = *total / *rest;
  }
  return reshaped(v, *target);
}

Literals flatten(const NodeView& v) {
  const auto in = v.constant(0)->dims;
  const auto rank = static_cast<std::int64_t>(in.size());
  std::int64_t axis = v.attribute_int("axis");
  if (axis < -rank || axis > rank) return {};
  if (axis < 0) axis += rank;
  const auto at = static_cast<std::size_t>(axis);
  const auto rows = count_of(in.first(at)), columns = count_of(in.subspan(at));
  if (!rows || !columns) return {};
  return reshaped(v, {*rows, *columns});
}

Literals squeeze(const NodeView& v) {
  const auto in = v.constant(0)->dims;
  const auto axes = v.ints_of("axes", 1);
  if (!axes) return {};
  const auto drop = flags(axes->value_or(Ints()), in.size());
  if (!drop) return {};
  Ints dims;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool gone = *axes ? (*drop)[i] : in[i] == 1;
    if (!gone) dims.push_back(in[i]);
  }
  return reshaped(v, dims);
}

Literals unsqueeze(const NodeView& v) {
  const auto in = v.constant(0)->dims;
  const auto axes = v.ints_of("axes", 1);
  if (!axes || !*axes) return {};
  const auto added = flags(**axes, in.size() + (*axes)->size());
  if (!added) return {};
  Ints dims;
  auto next = in.begin();
  for (const bool is_new : *added) {
    if (!is_new && next == in.end()) return {};  // an axis twice
    dims.push_back(is_new ? 1 : *next++);
  }
  return reshaped(v, dims);
}

std::optional<std::int64_t> product(std::span<const Dim> dims) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  std::int64_t out = 1;
  for (Dim d : dims) {
    if (!d.known() || d.size() < 1 || d.size() > kMost / out) return {};
    out *= d.size();
  }
  return out;
}

std::optional<int> place_behind(std::span<const Dim> front, const Type* other,
                                Dim size) {
  std::size_t same = 0;
  while (same < front.size() && same < other->rank() &&
         front[same] == other->dims[same]) {
    ++same;
  }
  const auto wanted = product(front.subspan(same));
  if (!wanted) return std::nullopt;
  std::int64_t passed = 1;
  for (std::size_t i = same; i < other->rank(); ++i) {
    const Dim d = other->dims[i];
    if (passed == *wanted && d == size) return static_cast<int>(i);
    if (!d.known() || d.size() > *wanted) return std::nullopt;
    passed *= d.size();
    if (passed > *wanted) return std::nullopt;
  }
  return std::nullopt;
}

// Finds the axis of the other side that has as many positions, and as many
// elements before it.
bool view(Flow& flow, Port port, int axis) {
  if (!Flow::first_only(port)) return false;
  const ir::Type* type = flow.type(port);
  const ir::Type* other = flow.type({!port.output, 0});
  if (!is_ranked(other)) return false;
  const Dim size = type->dims[Flow::at(axis)];
  if (size == Dim(1)) return false;
  const auto found =
      place_behind(type->dims.first(Flow::at(axis)), other, size);
  if (!found) return false;
  flow.axes.inputs[0] = port.output ? *found : axis;
  flow.axes.outputs[0] = port.output ? axis : *found;
  return true;
}

constexpr OpRow a_view(OpRow row) {
  row.family = OpFamily::kView;
  row.roles.folds_whole = row.roles.linear = row.roles.settings = true;
  row.roles.free = row.roles.moves = true;
  row.roles.integers = row.roles.passes_quantizers = true;
  row.axes = view;
  return row;
}

constexpr OpRow kStandardViews[] = {
    a_view({.type = "Flatten",
            .types = {flatten},
            .elements = {unmoved, 1},
            .views = flatten}),
    a_view({.type = "Reshape",
            .types = {reshape, 2},
            .elements = {unmoved, 1},
            .views = reshape}),
    a_view({.type = "Squeeze",
            .types = {squeeze, 2},
            .elements = {unmoved, 1},
            .views = squeeze}),
    a_view({.type = "Unsqueeze",
            .roles = {.counts_axes_of_result = true},
            .types = {unsqueeze, 2},
            .elements = {unmoved, 1},
            .views = unsqueeze}),
};

}  // namespace

std::span<const OpRow> standard::views() { return kStandardViews; }

}  // namespace ruleengine::ops
