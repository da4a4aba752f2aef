// Ops that make a tensor larger: Expand, Tile, Pad, Resize.
#include <numeric>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;

bool expand(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  if (const auto target = shape_said(v, 1)) {
    out[0].set_dims(broadcast_shapes(v, v.shape(0), *target));
  }
  return true;
}

bool tile(const NodeView& v, Outputs out) {
  if (v.opset() < 6) return false;
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
  if (v.opset() < 11) return false;
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  std::vector<std::size_t> places(v.rank(0));
  std::iota(places.begin(), places.end(), 0);
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
  if (v.opset() < 11 || v.attribute("axes") != nullptr ||
      v.attribute_string("keep_aspect_ratio_policy") != "stretch") {
    return false;
  }
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  std::vector<Dim> dims(v.rank(0), kUnknown);
  if (const auto sizes = v.elements(3); sizes && sizes->size() == dims.size()) {
    dims.assign(sizes->begin(), sizes->end());
  } else if (const ir::Literal* t = v.constant(2)) {
    const auto scales =
        ir::to_doubles(*t, v.model().external.get(), kMaxElements);
    if (!scales || scales->size() != dims.size()) return false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      dims[i] = scaled(v.dims(), v.shape(0)[i], (*scales)[i]);
    }
  }
  out[0].set_dims(std::move(dims));
  return true;
}

MaybeElements expand(const NodeView& v, std::size_t) {
  const ir::Type* type = v.output_type(0);
  if (!v.elements(0) || !wanted(v)) return std::nullopt;
  // The target may be smaller than the input along an axis.
  if (!ir::fits(v.shape(0), type->dims)) return std::nullopt;
  return spread(v, 0, sizes_of(type->dims));
}

MaybeElements tile(const NodeView& v, std::size_t) {
  const auto n = wanted(v);
  const auto in = v.elements(0);
  if (!n || !in || in->empty() || v.rank(0) != 1) return std::nullopt;
  Elements out;
  for (std::size_t i = 0; i < *n; ++i) out.push_back((*in)[i % in->size()]);
  return out;
}

constexpr OpRow kStandardExpand[] = {
    {.type = "CenterCropPad", .roles = {.keeps_rank = true}},
    {.type = "Expand",
     .roles = {.folds = true,
               .makes = true,
               .picks = true,
               .moves = true,
               .integers = true},
     .types = {expand, 2},
     .elements = {expand, 1}},
    {.type = "Pad",
     .roles = {.folds = true, .joins = true, .integers = true},
     .types = {pad, 2 | 8}},
    {.type = "Resize", .roles = {.integers = true}, .types = {resize, 4 | 8}},
    {.type = "Upsample", .roles = {.keeps_rank = true}},
    {.type = "Tile",
     .roles = {.folds = true,
               .makes = true,
               .picks = true,
               .moves = true,
               .integers = true},
     .types = {tile, 2},
     .elements = {tile, 1}},
};

}  // namespace

std::span<const OpRow> standard::expand() { return kStandardExpand; }

}  // namespace ruleengine::ops
