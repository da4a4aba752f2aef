// Images whose channels lie in blocks, as ONNX Runtime's optimizer leaves them
// for one machine. Nothing more is known of these ops than their shapes.
#include "core/ops/dialect/our_row.h"

namespace ruleengine::ops {
namespace {

// The images, [N,C,H,W], with C a multiple of the machine's block.
bool to_blocks(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) != 4) return true;
  const auto x = v.shape(0);
  const bool is_last = v.attribute_int("channels_last") != 0;
  out[0].set_dims(
      Shape{x[0], kUnknown, x[is_last ? 1 : 2], x[is_last ? 2 : 3]});
  return true;
}

// `channels` of them, [N,C,H,W] or [N,H,W,C].
bool from_blocks(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) != 4) return true;
  const auto x = v.shape(0);
  const std::int64_t given = v.attribute_int("channels");
  const ir::Dim channels = given > 0 ? ir::Dim(given) : kUnknown;
  out[0].set_dims(v.attribute_int("channels_last") != 0
                      ? Shape{x[0], x[2], x[3], channels}
                      : Shape{x[0], channels, x[2], x[3]});
  return true;
}

// As the standard's op of that name.
bool as_standard(const NodeView& v, Outputs out) {
  return like_standard(v.op().type, v, out);
}

// Each axis `scales` times as long.
bool upsample(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  const auto scales = v.attribute_ints("scales");
  if (!out[0].ranked || !scales) return true;
  for (std::size_t i = 0; i < out[0].dims.size(); ++i) {
    ir::Dim& d = out[0].dims[i];
    const bool is_scaled = i < scales->size() && (*scales)[i] > 0;
    d = is_scaled ? v.dims().mul(d, ir::Dim((*scales)[i])) : kUnknown;
  }
  return true;
}

constexpr OpRow blocked(std::string_view type, TypeRule types) {
  return {.domain = "com.microsoft.nchwc", .type = type, .types = types};
}

constexpr OpRow kDialectContribBlocked[] = {
    blocked("AveragePool", {as_standard}),
    blocked("Conv", {as_standard}),
    blocked("GlobalAveragePool", {as_standard}),
    blocked("GlobalMaxPool", {as_standard}),
    blocked("MaxPool", {as_standard}),
    blocked("ReorderInput", {to_blocks}),
    blocked("ReorderOutput", {from_blocks}),
    blocked("Upsample", {upsample}),
};

}  // namespace

std::span<const OpRow> dialect::contrib_blocked() {
  return kDialectContribBlocked;
}

}  // namespace ruleengine::ops
