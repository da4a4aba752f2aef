// Types of ops that keep the elements and change the shape: Reshape and its
// kin, Transpose, Concat, Expand, Tile, Pad.
#include <algorithm>

#include "core/analysis/types/rule_helpers.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;

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

// Whether an axis has the size that was asked for where that may be 0, which
// copies the axis of the input: that is 0 as well, or then there are no
// elements to fill any other size with. (A -1, or another 0, would be filled
// all the same, and the empty result have another shape; exporters flatten
// heads so, and what they write does not run on a size of 0.)
bool means_itself(const NodeView& v, Dim size, std::size_t axis) {
  if (size.known() || size == kUnknown) return true;
  ir::DimTable& dims = v.dims();
  if (is_positive(dims, size)) return true;
  if (!v.ranked(0)) return false;
  if (axis < v.rank(0) && takes_along(dims, size, v.shape(0)[axis])) {
    return true;
  }
  return takes_along(dims, size, element_count(dims, v.shape(0)));
}

std::vector<Dim> reshaped(const NodeView& v, std::span<const Dim> wanted) {
  const bool allow_zero = v.attribute_int("allowzero") != 0;
  std::vector<Dim> target(wanted.begin(), wanted.end());
  for (std::size_t i = 0; i < target.size() && !allow_zero; ++i) {
    if (target[i] == Dim(0)) {
      target[i] = v.ranked(0) && i < v.rank(0) ? v.shape(0)[i] : kUnknown;
    } else if (!means_itself(v, target[i], i)) {
      target[i] = kUnknown;
    }
  }
  if (const auto at = open_axis(target)) {
    Dim others(1);
    for (std::size_t i = 0; i < target.size(); ++i) {
      if (i != *at) others = v.dims().mul(others, target[i]);
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
  return target;
}

bool reshape(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  if (v.opset() < 5) {
    const auto shape = v.attribute_ints("shape");
    if (!shape) return false;
    std::vector<Dim> wanted;
    for (std::int64_t d : *shape) wanted.push_back(Dim(d));
    out[0].set_dims(reshaped(v, wanted));
    return true;
  }
  if (const auto wanted = v.elements(1)) {
    out[0].set_dims(reshaped(v, *wanted));
    if (v.ranked(0) && all_known(out[0].dims)) {
      need_equal(v, element_count(v.dims(), v.shape(0)),
                 element_count(v.dims(), out[0].dims),
                 "the elements are more or fewer than before");
    }
  } else if (v.ranked(1) && v.rank(1) == 1) {
    const auto rank = known_count(v.shape(1));
    if (rank && *rank <= kMaxElements) {
      out[0].set_dims(
          std::vector<Dim>(static_cast<std::size_t>(*rank), kUnknown));
    }
  }
  return true;
}

bool flatten(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
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

bool transpose(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  const auto perm = v.attribute_ints("perm");
  Dims dims(v.shape(0));
  if (!perm) {
    std::ranges::reverse(dims);
  } else {
    const auto places = places_of_axes(*perm, v.rank(0));
    if (!places || places->size() != v.rank(0) || perm->size() != v.rank(0)) {
      return false;
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      dims[i] = v.shape(0)[*ir::place_of_axis((*perm)[i], v.rank(0))];
    }
  }
  out[0].set_dims(dims);
  return true;
}

bool squeeze(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
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
    const auto places = places_of_axes(**axes, v.rank(0));
    if (!places) return false;
    for (std::size_t i = 0; i < v.rank(0); ++i) {
      if (!std::binary_search(places->begin(), places->end(), i)) {
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
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  const auto axes = v.ints_of("axes", 1);
  if (!v.ranked(0) || !axes || !*axes) return true;
  const std::size_t rank = v.rank(0) + (*axes)->size();
  const auto places = places_of_axes(**axes, rank);
  if (!places || places->size() != (*axes)->size()) return false;
  std::vector<Dim> dims;
  auto next = v.shape(0).begin();
  for (std::size_t i = 0; i < rank; ++i) {
    const bool added = std::binary_search(places->begin(), places->end(), i);
    dims.push_back(added ? Dim(1) : *next++);
  }
  out[0].set_dims(std::move(dims));
  return true;
}

// Of axes that must agree, the one that says most.
Dim agreed(const NodeView& v, Dim a, Dim b) {
  need_equal(v, a, b, "the joined values differ beside the axis");
  if (a.known()) return a;
  if (b.known()) return b;
  return v.dims().is_fresh(a) ? b : a;
}

bool concat(const NodeView& v, Outputs out) {
  if (out.empty() || v.input_count() == 0) return false;
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

bool expand(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  if (const auto target = v.elements(1)) {
    out[0].set_dims(broadcast_shapes(v, v.shape(0), *target));
  } else if (v.ranked(1) && v.rank(1) == 1) {
    const auto n = known_count(v.shape(1));
    if (n && *n <= kMaxElements) {
      const std::vector<Dim> unknown(static_cast<std::size_t>(*n), kUnknown);
      out[0].set_dims(broadcast_shapes(v, v.shape(0), unknown));
    }
  }
  return true;
}

bool tile(const NodeView& v, Outputs out) {
  if (out.empty() || v.opset() < 6) return false;
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  const auto repeats = v.elements(1);
  std::vector<Dim> dims(v.rank(0), kUnknown);
  if (repeats && repeats->size() == dims.size()) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if ((*repeats)[i] != kUnknown) {
        dims[i] = v.dims().mul(v.shape(0)[i], (*repeats)[i]);
      }
    }
  }
  out[0].set_dims(std::move(dims));
  return true;
}

bool pad(const NodeView& v, Outputs out) {
  if (out.empty() || v.opset() < 11) return false;
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  std::vector<std::size_t> places(v.rank(0));
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::vector<Dim> dims(v.shape(0).begin(), v.shape(0).end());
  const auto pads = v.elements(1);
  bool known = pads.has_value();
  if (v.has_input(3)) {
    const auto axes = v.ints(3);
    places.clear();
    for (std::int64_t axis : axes.value_or(std::vector<std::int64_t>())) {
      const auto place = ir::place_of_axis(axis, dims.size());
      if (!place) return false;
      places.push_back(*place);
    }
    known = known && axes.has_value();
  }
  if (!known || pads->size() != 2 * places.size()) {
    dims.assign(dims.size(), kUnknown);
    places.clear();
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Dim before = (*pads)[i];
    const Dim after = (*pads)[places.size() + i];
    Dim& d = dims[places[i]];
    d = before == kUnknown || after == kUnknown
            ? kUnknown
            : v.dims().add(d, v.dims().add(before, after));
    if (d.known() && d.size() < 0) d = kUnknown;
  }
  out[0].set_dims(std::move(dims));
  return true;
}

// floor(d * scale); scales are floats, so a whole one is exact.
Dim scaled(ir::DimTable& dims, Dim d, double scale) {
  if (!(scale > 0) || scale > 1e6) return kUnknown;
  if (scale == static_cast<double>(static_cast<std::int64_t>(scale))) {
    return dims.mul(d, Dim(static_cast<std::int64_t>(scale)));
  }
  if (!d.known() || d.size() > (std::int64_t{1} << 40)) return kUnknown;
  // As the standard says: the product of the size and a float.
  return Dim(static_cast<std::int64_t>(static_cast<float>(d.size()) *
                                       static_cast<float>(scale)));
}

bool resize(const NodeView& v, Outputs out) {
  if (out.empty() || v.opset() < 11 || v.attribute("axes") != nullptr ||
      v.attribute_string("keep_aspect_ratio_policy") != "stretch") {
    return false;
  }
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  std::vector<Dim> dims(v.rank(0), kUnknown);
  if (const auto sizes = v.elements(3); sizes && sizes->size() == dims.size()) {
    dims.assign(sizes->begin(), sizes->end());
  } else if (const ir::Tensor* t = v.constant(2)) {
    const auto scales =
        ir::to_doubles(*t, v.graph().model().external.get(), kMaxElements);
    if (!scales || scales->size() != dims.size()) return false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      dims[i] = scaled(v.dims(), v.shape(0)[i], (*scales)[i]);
    }
  }
  out[0].set_dims(std::move(dims));
  return true;
}

constexpr TypeRule kRules[] = {
    {"", "Concat", concat},       {"", "Expand", expand, 2},
    {"", "Flatten", flatten},     {"", "Pad", pad, 2 | 8},
    {"", "Reshape", reshape, 2},  {"", "Resize", resize, 4 | 8},
    {"", "Squeeze", squeeze, 2},  {"", "Tile", tile, 2},
    {"", "Transpose", transpose}, {"", "Unsqueeze", unsqueeze, 2},
};

}  // namespace

std::span<const TypeRule> layout_rules() { return kRules; }

}  // namespace ruleengine::analysis
