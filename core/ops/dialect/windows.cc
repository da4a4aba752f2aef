// Attention in windows of an image, and its parts.
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/element_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

constexpr std::int64_t kNoShift[] = {0, 0};

constexpr FormalValue kShiftedIn[] = {
    in("x"),           in("qkv_weight"),
    in("proj_weight"), in("relative_position_bias"),
    opt("qkv_bias"),   opt("proj_bias"),
    opt("logit_scale")};
constexpr FormalAttribute kShifted[] = {
    with("attention_dropout", 0.0f), with("dropout", 0.0f),
    need("num_heads", kInt), with("shift_size", kNoShift),
    need("window_size", kInts)};

constexpr FormalValue kBiasIn[] = {in("table"), in("index", kInt64)};
constexpr FormalAttribute kWindow[] = {need("window_size", kInts)};

constexpr FormalValue kPartitionIn[] = {in("x")};
constexpr FormalValue kPartitionOut[] = {in("windows"), in("spatial", kInt64)};
constexpr FormalAttribute kPartition[] = {with("shift_size", kNoShift),
                                          need("window_size", kInts)};

constexpr FormalValue kSwinIn[] = {in("Q"),
                                   in("K"),
                                   in("V"),
                                   in("table"),
                                   in("index", kInt64),
                                   in("spatial", kInt64)};
constexpr FormalAttribute kSwin[] = {
    with("attention_dropout", 0.0f), need("head_dim", kInt),
    need("num_heads", kInt), need("window_size", kInts)};

constexpr FormalValue kReverseIn[] = {in("windows"), in("spatial", kInt64)};

struct Window {
  Dim height = kUnknown, width = kUnknown;
};

Window window(const NodeView& v) {
  const auto size = v.attribute_ints("window_size");
  if (!size || size->size() != 2 || (*size)[0] <= 0 || (*size)[1] <= 0) {
    return {};
  }
  return {Dim((*size)[0]), Dim((*size)[1])};
}

bool relative_position_bias(const NodeView& v, Outputs out) {
  const Window w = window(v);
  const Dim n = product(v, w.height, w.width);
  out[0].elem = v.elem(0);
  const bool known = v.ranked(0) && v.rank(0) == 2;
  out[0].set_dims(Shape{Dim(1), known ? v.shape(0)[1] : kUnknown, n, n});
  return true;
}

bool window_partition(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (out.size() > 1) {
    out[1].elem = DataType::kInt64;
    out[1].set_dims(Shape{Dim(7)});
  }
  if (!v.ranked(0) || v.rank(0) != 4) return true;
  const Window w = window(v);
  if (w.height == kUnknown) return true;
  ir::DimTable& dims = v.dims();
  const auto x = v.shape(0);
  const Dim windows =
      dims.mul(dims.ceil_div(x[1], w.height), dims.ceil_div(x[2], w.width));
  out[0].set_dims(
      Shape{dims.mul(x[0], windows), dims.mul(w.height, w.width), x[3]});
  return true;
}

bool swin_attention(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  const auto heads = v.attribute_int("num_heads");
  const auto size = v.attribute_int("head_dim");
  const bool known = v.ranked(0) && v.rank(0) == 4;
  out[0].set_dims(Shape{known ? v.shape(0)[0] : kUnknown,
                        known ? v.shape(0)[2] : kUnknown,
                        product(v, count(heads), count(size))});
  return true;
}

bool window_reverse(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  Shape dims(4, kUnknown);
  if (v.ranked(0) && v.rank(0) == 3) dims[3] = v.shape(0)[2];
  if (const auto spatial = v.elements(1); spatial && spatial->size() == 7) {
    for (std::size_t i = 0; i < 3; ++i) dims[i] = (*spatial)[i];
  }
  out[0].set_dims(std::move(dims));
  return true;
}

// B, H, W, padded H and W, effective shifts.
MaybeElements window_partition(const NodeView& v, std::size_t output) {
  const auto window = v.attribute_ints("window_size");
  if (output != 1 || !v.ranked(0) || v.rank(0) != 4 || !window ||
      window->size() != 2 || (*window)[0] <= 0 || (*window)[1] <= 0) {
    return std::nullopt;
  }
  const auto shift = v.attribute_ints("shift_size");
  if (!shift || shift->size() != 2) return std::nullopt;
  const auto x = v.shape(0);
  Elements out(x.begin(), x.begin() + 3);
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim w((*window)[i]);
    out.push_back(v.dims().mul(v.dims().ceil_div(x[1 + i], w), w));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim padded = out[3 + i];
    // No shift where one window covers the axis.
    const bool covered = padded == Dim((*window)[i]);
    out.push_back(covered || (*shift)[i] == 0 ? Dim(0)
                  : padded.known()         ? Dim((*shift)[i])
                                           : kUnknown);
  }
  return out;
}

constexpr OpRow kRows[] = {
    ours(ir::dialect::kOwn, "RelativePositionBias", kBiasIn, kOutput, kWindow,
         {.types = {relative_position_bias},
          .formula =
              "the rows of the table that the index selects, as [1,H,N,N]"}),
    ours(ir::dialect::kOwn, "ShiftedWindowAttention", kShiftedIn, kY, kShifted,
         {.roles = {.attention = true},
          .types = {all_like_first},
          .formula =
              "SwinWindowReverse(SwinAttention(SwinWindowPartition(x)))"}),
    ours(
        ir::dialect::kOwn, "SwinAttention", kSwinIn, kY, kSwin,
        {.roles = {.attention = true},
         .types = {swin_attention},
         .formula = "softmax(q k^T / sqrt(D) + bias + seams) v, heads merged"}),
    ours(ir::dialect::kOwn, "SwinWindowPartition", kPartitionIn, kPartitionOut,
         kPartition,
         {.types = {window_partition},
          .elements = {window_partition, 0, 1},
          .formula = "x padded, rolled by -shift_size and cut into windows"}),
    ours(ir::dialect::kOwn, "SwinWindowReverse", kReverseIn, kY, kWindow,
         {.types = {window_reverse, 2},
          .formula = "the reverse of SwinWindowPartition"}),
};

}  // namespace

std::span<const OpRow> dialect::windows() { return kRows; }

}  // namespace ruleengine::ops
