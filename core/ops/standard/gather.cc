// Ops that pick elements by indices, and those that put them there.
#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;

bool gather(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || !v.ranked(1)) return true;
  const auto place = ir::place_of_axis(v.attribute_int("axis"), v.rank(0));
  if (!place) return false;
  const auto data = v.shape(0);
  Dims dims(data.first(*place));
  dims.append(v.shape(1));
  dims.append(data.subspan(*place + 1));
  out[0].set_dims(dims);
  return true;
}

bool gather_elements(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  // Data and indices have as many axes.
  if (v.ranked(1)) {
    out[0].set_dims(v.shape(1));
  } else if (v.ranked(0)) {
    out[0].set_dims(std::vector<Dim>(v.rank(0), kUnknown));
  }
  return true;
}

bool gather_nd(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || !v.ranked(1) || v.rank(1) == 0) return true;
  const auto data = v.shape(0);
  const auto indices = v.shape(1);
  const Dim depth = indices.back();
  const auto batch = v.attribute_int("batch_dims");
  if (!depth.known()) return true;
  const auto rank = static_cast<std::int64_t>(data.size());
  if (batch < 0 || depth.size() < 0 || batch > rank ||
      depth.size() > rank - batch) {
    return false;
  }
  std::vector<Dim> dims(indices.begin(), indices.end() - 1);
  dims.insert(dims.end(), data.begin() + batch + depth.size(), data.end());
  out[0].set_dims(std::move(dims));
  return true;
}

MaybeElements gather(const NodeView& v, std::size_t) {
  const auto data = v.elements(0);
  const auto indices = v.ints(1);
  if (!data || !indices) return std::nullopt;
  const Ints shape = sizes_of(v.shape(0));
  const auto axis = ir::place_of_axis(v.attribute_int("axis"), shape.size());
  if (!axis || data->size() * indices->size() > 4096) return std::nullopt;
  const auto places = gathered_places(shape, *axis, *indices);
  if (!places) return std::nullopt;
  return picked(*data, *places);
}

// One row of `depth` for each index, as repeat_interleave counts its repeats.
MaybeElements one_hot(const NodeView& v, std::size_t) {
  const auto indices = v.ints(0);
  const auto depth = v.ints(1);
  const auto values = v.elements(2);
  if (!indices || !depth || depth->size() != 1 || !values ||
      values->size() != 2 || v.attribute_int("axis") != -1 ||
      (*depth)[0] <= 0 || (*depth)[0] * indices->size() > 4096) {
    return std::nullopt;
  }
  Elements out;
  for (const std::int64_t index : *indices) {
    for (std::int64_t i = 0; i < (*depth)[0]; ++i) {
      const bool hot = i == (index < 0 ? index + (*depth)[0] : index);
      out.push_back((*values)[hot ? 1 : 0]);
    }
  }
  return out;
}

constexpr OpRow kStandardGather[] = {
    {.type = "Gather",
     .roles = {.folds = true,
               .picks = true,
               .moves = true,
               .indexes = true,
               .integers = true},
     .types = {gather},
     .elements = {gather, 3}},
    {.type = "GatherElements",
     .roles = {.folds = true,
               .picks = true,
               .moves = true,
               .indexes = true,
               .integers = true},
     .types = {gather_elements}},
    {.type = "GatherND",
     .roles = {.folds = true, .picks = true, .moves = true, .indexes = true},
     .types = {gather_nd}},
    {.type = "OneHot",
     .roles = {.counts_axes_of_result = true, .folds = true},
     .elements = {one_hot, 7}},
    {.type = "Scatter",
     .roles = {.joins = true, .indexes = true},
     .types = {like_first}},
    {.type = "ScatterElements",
     .roles = {.folds = true, .joins = true, .indexes = true},
     .types = {like_first}},
    {.type = "ScatterND",
     .roles = {.folds = true, .joins = true, .indexes = true},
     .types = {like_first}},
};

}  // namespace

std::span<const OpRow> standard::gather() { return kStandardGather; }

}  // namespace ruleengine::ops
