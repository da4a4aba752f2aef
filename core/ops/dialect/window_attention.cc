// Attention in windows of a map.
#include <cmath>

#include "core/ops/dialect/our_row.h"
#include "core/ops/dialect/window_map.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::ValueId;

constexpr FormalValue kShiftedIn[] = {
    in("x"),           in("qkv_weight"),
    in("proj_weight"), in("relative_position_bias"),
    opt("qkv_bias"),   opt("proj_bias"),
    opt("logit_scale")};
constexpr FormalAttribute kShifted[] = {
    with("attention_dropout", 0.0f), with("dropout", 0.0f),
    need("num_heads", kInt), with("shift_size", kNoShift),
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

double swin_attention(const SizedNode& n) {
  return n.in(0, -2) * (n.in(0) + n.out(0));
}

// The projections of all places of the padded map, and attention in its
// windows.
double shifted_window_attention(const SizedNode& n) {
  const auto sides = n.node.attribute_ints("window_size");
  if (!sides || sides->size() != 2) return SizedNode::kUnsized;
  double places = n.in(0, 0), window = 1;
  for (int i = 0; i < 2; ++i) {
    const auto side =
        static_cast<double>((*sides)[static_cast<std::size_t>(i)]);
    places *= std::ceil(n.in(0, 1 + i) / side) * side;
    window *= side;
  }
  return places * (n.in(1) + n.in(2) + 2 * window * n.in(0, 3));
}

// 1 for the places along an axis that the roll brought in from the other end,
// 0 for the rest. (The edge of the last window parts regions as well, but no
// window lies across it.)
ValueId brought(Body& body, const Spatial& s, std::int64_t axis) {
  const ValueId rest = body.node("Sub", {s.padded, s.shift}, "rest");
  const ValueId is_rest = body.node("Less",
                                    {places_below(body, s.padded, axis),
                                     body.entries(rest, axis, axis + 1, "end")},
                                    "is_rest");
  return body.cast(body.node("Not", {is_rest}, "is_brought"),
                   ir::DataType::kInt64, "brought");
}

// [windows of a map, 1, positions, positions]: -100 where two positions of a
// window are in different regions, in the float type of `like`.
ValueId seams(Body& body, const Windows& w, const Spatial& s, ValueId tiles,
              ValueId like) {
  const ValueId rows = body.node(
      "Mul", {brought(body, s, 0), body.integers({2}, "two")}, "rows");
  const ValueId column = body.integers({-1, 1}, "column");
  ValueId x = body.node(
      "Add",
      {body.node("Reshape", {rows, column}, "row_column"), brought(body, s, 1)},
      "region");
  x = reshaped_to(body, x,
                  {body.entries(tiles, 0, 1, "tile_rows"),
                   body.integers({w.side[0]}, "height"),
                   body.entries(tiles, 1, 2, "tile_columns"),
                   body.integers({w.side[1]}, "width")},
                  "tiled_regions");
  x = body.transposed(x, {0, 2, 1, 3}, "regions_apart");
  const std::int64_t n = w.positions;
  const auto view = [&](const std::vector<std::int64_t>& sizes) {
    return body.reshaped(x, sizes, "view", "window_regions");
  };
  const ValueId same =
      body.node("Equal", {view({-1, 1, 1, n}), view({-1, 1, n, 1})}, "same");
  return body.node(
      "Where",
      {same, body.number(0, like, "no_seam"), body.number(-100, like, "seam")},
      "seams");
}

// softmax(q k^T / sqrt(head_dim) + bias + seams) v, with the heads merged.
Body::Values swin_attention(const CallSite& call) {
  Body& body = call.body();
  const Windows w(call);
  const std::int64_t heads = call.int_of("num_heads");
  const std::int64_t head_dim = call.int_of("head_dim");
  if (heads <= 0 || head_dim <= 0 || heads > kMostSize / head_dim) {
    body.refuse("num_heads and head_dim are not two positive numbers");
    return {};
  }
  const ir::Attribute window[] = {
      body.ints("window_size", {w.side[0], w.side[1]})};
  ValueId mask = write_meaning(body, "ruleengine", "RelativePositionBias",
                               {call["table"], call["index"]}, window)[0];
  const ValueId spatial = call["spatial"];
  const Spatial s = read_spatial(body, w, spatial);
  if (is_rolled(call, spatial)) {
    const ValueId tiles =
        body.node("Div", {s.padded, list_of(body, w.side, "window")}, "tiles");
    mask = body.node("Add", {mask, seams(body, w, s, tiles, call["Q"])},
                     "bias_and_seams");
    // The seams of one map, once for each map of the batch.
    const ValueId ones = body.integers({1, 1, 1}, "once");
    if (!body.is_one(s.batch)) {
      mask = body.node("Tile", {mask, body.joined({s.batch, ones}, "repeats")},
                       "masks");
    }
  }
  const ValueId y = body.call("ruleengine", "ScaledDotProductAttention",
                              {call["Q"], call["K"], call["V"], mask},
                              {Body::integer("head_dim", head_dim),
                               Body::integer("num_heads", heads)})[0];
  return {body.node("Reshape",
                    {body.transposed(y, {0, 2, 1, 3}, "heads_together"),
                     body.integers({0, 0, heads * head_dim}, "merged")},
                    "Y")};
}

constexpr OpRow kDialectWindowAttention[] = {
    ours(dialect::kOwn, "ShiftedWindowAttention", kShiftedIn, kY, kShifted,
         {.roles = {.attention = true},
          .types = {all_like_first},
          .products = shifted_window_attention,
          .formula = "torchvision's: "
                     "SwinWindowReverse(SwinAttention(SwinWindowPartition(x))) "
                     "between two projections"}),
    ours(dialect::kOwn, "SwinAttention", kSwinIn, kY, kSwin,
         {.roles = {.attention = true},
          .types = {swin_attention},
          .products = swin_attention,
          .formula = "softmax(q k^T / sqrt(D) + bias + seams) v, heads merged",
          .meaning = swin_attention}),
};

}  // namespace

std::span<const OpRow> dialect::window_attention() {
  return kDialectWindowAttention;
}

}  // namespace ruleengine::ops
