#include "core/rewrite/meanings/meanings.h"

#include <algorithm>

namespace ruleengine::rewrite {
namespace {

using namespace meanings;

struct Row {
  std::string_view domain, type;
  Meaning write;
};

constexpr Row kRows[] = {
    {"aten", "scaled_dot_product_attention", functional_attention},
    {"ruleengine", "AttentionForward", attention_forward},
    {"ruleengine", "Linear", linear},
    {"ruleengine", "MHAInProjection", in_projection},
    {"ruleengine", "RelativePositionBias", relative_position_bias},
    {"ruleengine", "ScaledDotProductAttention", scaled_dot_product_attention},
    {"ruleengine", "SwinAttention", swin_attention},
    {"ruleengine", "SwinWindowPartition", window_partition},
    {"ruleengine", "SwinWindowReverse", window_reverse},
    {"tensor_cast", "_internal_copy_region", marker},
    {"tensor_cast", "_internal_mark_region_begin", marker},
    {"tensor_cast", "_internal_mark_region_end", marker},
    {"tensor_cast", "add_rms_norm", add_rms_norm},
    {"tensor_cast", "add_rms_norm2", add_rms_norm},
    {"tensor_cast", "dynamic_quantize_asymmetric", dynamic_quantize_asymmetric},
    {"tensor_cast", "dynamic_quantize_mxfp4", dynamic_quantize_mxfp4},
    {"tensor_cast", "dynamic_quantize_symmetric", dynamic_quantize_symmetric},
    {"tensor_cast", "fp8_linear", fp8_linear},
    {"tensor_cast", "mxfp4_linear", mxfp4_linear},
    {"tensor_cast", "quantize", quantize},
    {"tensor_cast", "rms_norm", rms_norm},
    {"tensor_cast", "static_quant_linear", static_quant_linear},
    {"tensor_cast", "static_quant_linear_int4", static_quant_linear},
};

}  // namespace

Meaning meaning_of(std::string_view domain, std::string_view type) {
  const auto at = std::ranges::find_if(kRows, [&](const Row& each) {
    return each.domain == domain && each.type == type;
  });
  return at == std::end(kRows) ? nullptr : at->write;
}

}  // namespace ruleengine::rewrite
