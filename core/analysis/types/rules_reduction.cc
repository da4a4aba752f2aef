// Types of reductions.
#include <algorithm>

#include "core/analysis/types/rule_helpers.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;

void drop_axes(const NodeView& v, const std::vector<std::size_t>& places,
               bool keep, Inferred& out) {
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < v.rank(0); ++i) {
    if (!std::binary_search(places.begin(), places.end(), i)) {
      dims.push_back(v.shape(0)[i]);
    } else if (keep) {
      dims.push_back(Dim(1));
    }
  }
  out.set_dims(std::move(dims));
}

bool reduce(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  const bool keep = v.attribute_int("keepdims") != 0;
  const auto axes = v.ints_of("axes", 1);
  if (!axes) {
    if (keep) {
      out[0].set_dims(std::vector<Dim>(v.rank(0), kUnknown));
    } else if (v.ranked(1) && v.rank(1) == 1 && v.shape(1)[0].known() &&
               v.shape(1)[0].size() > 0 &&
               v.shape(1)[0].size() <= static_cast<std::int64_t>(v.rank(0))) {
      const auto gone = static_cast<std::size_t>(v.shape(1)[0].size());
      out[0].set_dims(std::vector<Dim>(v.rank(0) - gone, kUnknown));
    }
    return true;
  }
  std::vector<std::int64_t> list = axes->value_or(std::vector<std::int64_t>());
  if (list.empty()) {
    if (v.attribute_int("noop_with_empty_axes") != 0) {
      out[0].set_dims(v.shape(0));
      return true;
    }
    for (std::size_t i = 0; i < v.rank(0); ++i) {
      list.push_back(static_cast<std::int64_t>(i));
    }
  }
  const auto places = places_of_axes(list, v.rank(0));
  if (!places) return false;
  drop_axes(v, *places, keep, out[0]);
  return true;
}

bool arg(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = ir::DataType::kInt64;
  if (!v.ranked(0)) return true;
  const auto place = ir::place_of_axis(v.attribute_int("axis"), v.rank(0));
  if (!place) return false;
  drop_axes(v, {*place}, v.attribute_int("keepdims") != 0, out[0]);
  return true;
}

bool global_pool(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  if (v.rank(0) < 2) return false;
  out[0].set_dims(v.shape(0));
  std::fill(out[0].dims.begin() + 2, out[0].dims.end(), Dim(1));
  return true;
}

constexpr TypeRule kRules[] = {
    {"", "ArgMax", arg},
    {"", "ArgMin", arg},
    {"", "GlobalAveragePool", global_pool},
    {"", "GlobalMaxPool", global_pool},
    {"", "ReduceL1", reduce, 2},
    {"", "ReduceL2", reduce, 2},
    {"", "ReduceLogSum", reduce, 2},
    {"", "ReduceLogSumExp", reduce, 2},
    {"", "ReduceMax", reduce, 2},
    {"", "ReduceMean", reduce, 2},
    {"", "ReduceMin", reduce, 2},
    {"", "ReduceProd", reduce, 2},
    {"", "ReduceSum", reduce, 2},
    {"", "ReduceSumSquare", reduce, 2},
};

}  // namespace

std::span<const TypeRule> reduction_rules() { return kRules; }

}  // namespace ruleengine::analysis
