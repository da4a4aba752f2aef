// Norms and softmax.
#include <algorithm>

#include "core/ops/families.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

bool layer_normalization(const NodeView& v, Outputs out) {
  like_first(v, out);
  // ONNX Runtime's own of before opset 17 takes x in another type.
  const ir::Type* scale = v.input(1);
  if (scale != nullptr && scale->is_tensor() &&
      scale->elem != DataType::kUndefined) {
    out[0].elem = scale->elem;
  }
  const auto axis = v.ranked(0)
                        ? ir::place_of_axis(v.attribute_int("axis"), v.rank(0))
                        : std::nullopt;
  for (std::size_t o = 1; o < out.size(); ++o) {
    const auto stash = v.attribute_int("stash_type");
    out[o].elem = static_cast<DataType>(stash);
    if (!axis) continue;
    out[o].set_dims(v.shape(0));
    std::fill(out[o].dims.begin() + static_cast<std::ptrdiff_t>(*axis),
              out[o].dims.end(), Dim(1));
  }
  return true;
}

bool batch_normalization(const NodeView& v, Outputs out) {
  if (out.size() > 1) return false;
  return like_first(v, out);
}

constexpr OpRow kStandardNorms[] = {
    {.type = "BatchNormalization", .types = {batch_normalization}},
    {.type = "GroupNormalization", .types = {like_first}},
    {.type = "Hardmax", .types = {like_first}},
    {.type = "InstanceNormalization", .types = {like_first}},
    {.type = "LRN", .types = {like_first}},
    {.type = "LayerNormalization",
     .roles = {.folds = true, .normalizing = true},
     .types = {layer_normalization},
     .axes = flow_norm},
    {.type = "LogSoftmax", .roles = {.folds = true}, .types = {like_first}},
    {.type = "LpNormalization", .types = {like_first}},
    {.type = "MeanVarianceNormalization", .types = {like_first}},
    {.type = "RMSNormalization",
     .roles = {.folds = true, .normalizing = true},
     .types = {like_first},
     .axes = flow_norm},
    {.type = "Softmax",
     .roles = {.folds = true, .integers = true},
     .types = {like_first}},
};

}  // namespace

std::span<const OpRow> standard::norms() { return kStandardNorms; }

}  // namespace ruleengine::ops
