// Types of ops that pick elements: Slice, Split, Gather and its kin.
#include "core/analysis/types/rule_helpers.h"
#include "core/analysis/types/slice_math.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;

struct Bounds {
  std::vector<Dim> starts, ends;
  std::optional<std::vector<std::int64_t>> axes, steps;
};

std::vector<Dim> dims_from(const std::vector<std::int64_t>& ints) {
  std::vector<Dim> out;
  for (std::int64_t i : ints) {
    // A Dim does not hold the lowest integers; as a bound, they are alike.
    out.push_back(Dim(i).known() ? Dim(i) : Dim(-(std::int64_t{1} << 61)));
  }
  return out;
}

// An input of bounds: numbers where it is constant, else elements.
std::optional<std::vector<Dim>> bounds_of(const NodeView& v, std::size_t i) {
  if (const auto ints = v.ints(i)) return dims_from(*ints);
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
    out.starts = dims_from(*starts);
    out.ends = dims_from(*ends);
    out.axes = v.attribute_ints("axes");
    return out;
  }
  const auto starts = bounds_of(v, 1);
  const auto ends = bounds_of(v, 2);
  out.axes = v.ints(3);
  out.steps = v.ints(4);
  if ((v.has_input(3) && !out.axes)) return std::nullopt;
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
  if (out.empty()) return true;
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

// How the axis is divided, by attribute, input or number of outputs.
std::vector<Dim> split_sizes(const NodeView& v, Dim size, std::size_t n) {
  if (const auto fixed = v.attribute_ints("split")) {
    std::vector<Dim> out;
    for (std::int64_t s : *fixed) out.push_back(Dim(s));
    return out;
  }
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
  if (out.empty()) return true;
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

bool gather(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || !v.ranked(1)) return true;
  const auto place = ir::place_of_axis(v.attribute_int("axis"), v.rank(0));
  if (!place) return false;
  const auto data = v.shape(0);
  std::vector<Dim> dims(data.begin(),
                        data.begin() + static_cast<std::ptrdiff_t>(*place));
  dims.insert(dims.end(), v.shape(1).begin(), v.shape(1).end());
  dims.insert(dims.end(),
              data.begin() + static_cast<std::ptrdiff_t>(*place) + 1,
              data.end());
  out[0].set_dims(std::move(dims));
  return true;
}

bool gather_elements(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  if (v.ranked(1)) out[0].set_dims(v.shape(1));
  return true;
}

bool gather_nd(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
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

constexpr TypeRule kRules[] = {
    {"", "Gather", gather},      {"", "GatherElements", gather_elements},
    {"", "GatherND", gather_nd}, {"", "Slice", slice, 2 | 4 | 8 | 16},
    {"", "Split", split, 2},
};

}  // namespace

std::span<const TypeRule> indexing_rules() { return kRules; }

}  // namespace ruleengine::analysis
