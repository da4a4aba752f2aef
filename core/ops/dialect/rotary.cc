#include "core/ops/dialect/rotary.h"

#include <limits>

#include "core/ops/dialect/contrib_heads.h"
#include "core/ops/dialect/our_row.h"

namespace ruleengine::ops {

using ir::ValueId;

// The standard has the op since this opset.
static constexpr std::int64_t kRotaryEmbedding = 23;

ValueId rotated(Body& body, ValueId x, const Rotation& r) {
  if (body.opset() >= kRotaryEmbedding) {
    Body::Attributes attributes;
    if (r.is_interleaved) attributes.push_back(Body::integer("interleaved", 1));
    if (r.turned != 0) {
      attributes.push_back(Body::integer("rotary_embedding_dim", r.turned));
    }
    return body.node("RotaryEmbedding", {x, r.cosines, r.sines, r.positions},
                     "rotated", std::move(attributes));
  }
  const auto angle = [&](ValueId table, std::string_view name) {
    const ValueId rows =
        body.node("Gather", {table, r.positions}, "of_positions");
    return body.unsqueezed(rows, {1}, name);
  };
  const ValueId cosines = angle(r.cosines, "cosines");
  const ValueId sines = angle(r.sines, "sines");
  ValueId part = x, rest;
  if (r.turned != 0) {
    const ValueId end = body.integers({r.turned}, "turned");
    part = body.sliced(x, body.integers({0}, "first"), end, 3, "turned_part");
    rest = body.sliced(
        x, end,
        body.integers({std::numeric_limits<std::int64_t>::max()}, "last"), 3,
        "rest");
  }
  ValueId first, second;
  if (r.is_interleaved) {
    const ValueId pairs =
        body.reshaped(part, {0, 0, 0, -1, 2}, "by_pair", "pairs");
    first = body.one_of(pairs, 0, 4, "of_pair");
    second = body.one_of(pairs, 1, 4, "of_pair");
  } else {
    const auto halves =
        body.nodes("Split", {part}, {"first_half", "second_half"},
                   {Body::integer("axis", 3), Body::integer("num_outputs", 2)});
    first = halves[0];
    second = halves[1];
  }
  const auto times = [&](ValueId a, ValueId b) {
    return body.node("Mul", {a, b}, "term");
  };
  ValueId real = body.node("Sub", {times(first, cosines), times(second, sines)},
                           "turned_first");
  ValueId imaginary = body.node(
      "Add", {times(first, sines), times(second, cosines)}, "turned_second");
  ValueId y;
  if (r.is_interleaved) {
    real = body.unsqueezed(real, {4}, "turned_first");
    imaginary = body.unsqueezed(imaginary, {4}, "turned_second");
    y = body.node("Reshape",
                  {body.joined({real, imaginary}, "turned_pairs", 4),
                   body.integers({0, 0, 0, -1}, "by_row")},
                  "turned");
  } else {
    y = body.joined({real, imaginary}, "turned", 3);
  }
  return rest ? body.joined({y, rest}, "rotated", 3) : y;
}

std::int64_t turned_by(const CallSite& call, std::int64_t size) {
  const std::int64_t turned = 2 * call.size("cos_cache", 1);
  if (size != 0 && turned > size) {
    call.body().refuse("the cosines turn more than a head has",
                       call["cos_cache"]);
  }
  return turned == size ? 0 : turned;
}

namespace {

constexpr FormalValue kRotaryIn[] = {in("input"), in("position_ids", kInt64),
                                     in("cos_cache"), in("sin_cache")};
constexpr FormalAttribute kRotary[] = {
    with("interleaved", 0), with("is_packed_batching", 0), with("num_heads", 0),
    with("rotary_embedding_dim", 0), with("scale", 1.0f)};

// Rows of cosines and sines, which positions (input 1) pick.
bool contrib_rotary_embedding(const NodeView& v, Outputs out) {
  need_rank(v, 2, 2, "wrong rank of the cosines");
  need_rank(v, 3, 2, "wrong rank of the sines");
  return all_like_first(v, out);
}

Body::Values contrib_rotary_embedding(const CallSite& call) {
  Body& body = call.body();
  if (call.int_of("is_packed_batching") != 0 || call.float_of("scale") != 1) {
    body.refuse("packed or scaled rotations have no meaning");
  }
  const ValueId x = call["input"];
  const auto rank = call.rank("input");
  const auto rank_of_positions = call.rank("position_ids");
  if (!rank || (*rank != 3 && *rank != 4) || !rank_of_positions) {
    body.refuse("the ranks of the input and of the positions are not known", x);
    return {};
  }
  const bool is_merged = *rank == 3;
  const std::int64_t width = call.size("input", 1);
  const std::int64_t all = call.int_of("rotary_embedding_dim");
  std::int64_t heads = call.int_of("num_heads"), size = width;
  if (is_merged) {
    // Without a number of heads, the cosines turn whole heads.
    if (heads == 0 && call.size("cos_cache", 1) > 0) {
      heads = width / (2 * call.size("cos_cache", 1));
    }
    if (heads <= 0 || width % heads != 0) {
      body.refuse("the number of heads is unknown", x);
      return {};
    }
    size = width / heads;
  }
  std::int64_t turned = turned_by(call, size);
  if (turned == 0 && all != 0 && all != size) turned = all;
  if (all != 0 && turned != 0 && all != turned) {
    body.refuse("rotary_embedding_dim is not twice the width of the cosines",
                call["cos_cache"]);
  }
  // One position is that of the first row of each of the batch.
  ValueId positions = call["position_ids"];
  const ValueId batch = body.length_of(x, 0, "batch");
  const std::int64_t axis_of_rows = is_merged ? 1 : 2;
  if (*rank_of_positions != 2) {
    const ValueId rows =
        body.places_below(body.size_of(x, axis_of_rows, "rows"));
    positions = body.node(
        "Expand",
        {body.node("Add", {rows, positions}, "positions_of_rows"),
         body.joined({batch, body.length_of(x, axis_of_rows, "length")},
                     "shape_of_positions")},
        "positions");
  }
  ValueId y = is_merged ? split_heads(body, x, heads, size) : x;
  y = rotated(body, y,
              {.cosines = call["cos_cache"],
               .sines = call["sin_cache"],
               .positions = positions,
               .is_interleaved = call.int_of("interleaved") != 0,
               .turned = turned});
  return {is_merged ? merged_heads(body, y, width) : y};
}

constexpr OpRow kDialectRotary[] = {
    ours(dialect::kMicrosoft, "RotaryEmbedding", kRotaryIn, kOutput, kRotary,
         {.types = {contrib_rotary_embedding},
          .formula = "pairs of x turned by the angles of their positions",
          .meaning = contrib_rotary_embedding}),
};

}  // namespace

std::span<const OpRow> dialect::rotary() { return kDialectRotary; }

}  // namespace ruleengine::ops
