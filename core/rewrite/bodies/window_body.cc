#include "core/rewrite/bodies/window_body.h"

#include <string>

#include "core/rewrite/bodies/attention_body.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;

// Entries [from, to) of a list of integers.
ValueId part(Body& body, ValueId list, std::int64_t from, std::int64_t to,
             std::string_view name) {
  return body.node(
      "Slice", {list, body.integers({from}, "from"), body.integers({to}, "to")},
      name);
}

ValueId join(Body& body, std::vector<ValueId> lists, std::string_view name) {
  return body.node("Concat", std::move(lists), name,
                   {Body::integer("axis", 0)});
}

ValueId reshape(Body& body, ValueId x, std::vector<ValueId> sizes,
                std::string_view name) {
  return body.node("Reshape", {x, join(body, std::move(sizes), "sizes")}, name);
}

ValueId transpose(Body& body, ValueId x, std::vector<std::int64_t> perm,
                  std::string_view name) {
  return body.node("Transpose", {x}, name,
                   {body.ints("perm", std::move(perm))});
}

// 0, 1, ... below an entry of a list.
ValueId places(Body& body, ValueId sizes, std::int64_t axis) {
  const ValueId size =
      body.node("Gather", {sizes, body.integers({axis}, "axis", true)}, "size");
  return body.node(
      "Range",
      {body.integers({0}, "zero", true), size, body.integers({1}, "one", true)},
      "places");
}

ValueId side_of(Body& body, const WindowVariant& v) {
  return body.integers({v.side[0], v.side[1]}, "window");
}

std::int64_t positions(const WindowVariant& v) { return v.side[0] * v.side[1]; }

// --- Maps ------------------------------------------------------------------

// What `spatial` says; `shift` is the effective one.
struct Spatial {
  ValueId batch, size, padded, shift;
};

Spatial read(Body& body, ValueId spatial) {
  return {.batch = part(body, spatial, 0, 1, "batch"),
          .size = part(body, spatial, 1, 3, "size"),
          .padded = part(body, spatial, 3, 5, "padded_size"),
          .shift = part(body, spatial, 5, 7, "shift")};
}

// x along the axes 1 and 2 as it is `step` ("Add") after or ("Sub") before the
// first `count` places, round and round.
ValueId rolled(Body& body, ValueId x, const char* step, const Spatial& s,
               ValueId count) {
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const ValueId from =
        body.node(step,
                  {places(body, count, axis),
                   part(body, s.shift, axis, axis + 1, "steps")},
                  "from");
    const ValueId which = body.node(
        "Mod", {from, part(body, s.padded, axis, axis + 1, "length")}, "which");
    x = body.node("Gather", {x, which}, "rolled",
                  {Body::integer("axis", axis + 1)});
  }
  return x;
}

void write_partition(Body& body, const WindowVariant& v,
                     std::span<const ir::Attribute> call) {
  ValueId x = body.input("x");
  const ValueId shape = body.node("Shape", {x}, "shape");
  const ValueId side = side_of(body, v);
  const ValueId less =
      body.integers({v.side[0] - 1, v.side[1] - 1}, "window_less_one");
  const ValueId zeros = body.integers({0, 0}, "no_shift");
  Spatial s{.size = part(body, shape, 1, 3, "size"), .shift = zeros};
  const ValueId tiles = body.node(
      "Div", {body.node("Add", {s.size, less}, "size_and_more"), side},
      "tiles");
  s.padded = body.node("Mul", {tiles, side}, "padded_size");
  const ValueId pads = join(body,
                            {body.integers({0, 0, 0, 0, 0}, "before"),
                             body.node("Sub", {s.padded, s.size}, "missing"),
                             body.integers({0}, "behind")},
                            "pads");
  x = body.node("Pad", {x, pads}, "padded");
  if (v.shifted) {
    s.shift =
        body.node("Where",
                  {body.node("Less", {side, s.padded}, "is_cut"),
                   body.integers({v.shift[0], v.shift[1]}, "wanted"), zeros},
                  "shift");
    x = rolled(body, x, "Add", s, s.padded);
  }
  const ValueId channels = part(body, shape, 3, 4, "channels");
  x = reshape(
      body, x,
      {body.integers({0}, "batch"), part(body, tiles, 0, 1, "rows"),
       body.integers({v.side[0]}, "height"), part(body, tiles, 1, 2, "columns"),
       body.integers({v.side[1]}, "width"), channels},
      "tiled");
  x = transpose(body, x, {0, 1, 3, 2, 4, 5}, "apart");
  x = reshape(body, x, {body.integers({-1, positions(v)}, "cut"), channels},
              "windows");
  const ValueId spatial =
      join(body, {part(body, shape, 0, 3, "unpadded"), s.padded, s.shift},
           "spatial");
  body.finish({x, spatial}, call);
}

void write_reverse(Body& body, const WindowVariant& v,
                   std::span<const ir::Attribute> call) {
  ValueId x = body.input("windows");
  const Spatial s = read(body, body.input("spatial"));
  const ValueId side = side_of(body, v);
  const ValueId channels =
      part(body, body.node("Shape", {x}, "shape"), 2, 3, "channels");
  x = reshape(
      body, x,
      {s.batch, body.node("Div", {s.padded, side}, "tiles"), side, channels},
      "tiled");
  x = transpose(body, x, {0, 1, 3, 2, 4, 5}, "together");
  x = reshape(body, x, {s.batch, s.padded, channels}, "map");
  if (v.shifted) {
    x = rolled(body, x, "Sub", s, s.size);
  } else {
    x = body.node("Slice",
                  {x, body.integers({0, 0}, "start"), s.size,
                   body.integers({1, 2}, "axes")},
                  "cropped");
  }
  body.finish({x}, call);
}

// --- Attention inside of windows -------------------------------------------

// [heads, positions, positions]
ValueId bias(Body& body, const WindowVariant& v) {
  const ValueId table = body.input("table");
  const ValueId index = body.node(
      "Reshape", {body.input("index"), body.integers({-1}, "flat")}, "places");
  const std::int64_t n = positions(v);
  const ValueId rows =
      body.node("Gather", {table, index}, "rows", {Body::integer("axis", 0)});
  const ValueId square = body.node(
      "Reshape", {rows, body.integers({n, n, -1}, "square")}, "pairs");
  return transpose(body, square, {2, 0, 1}, "bias");
}

void write_bias(Body& body, const WindowVariant& v,
                std::span<const ir::Attribute> call) {
  const std::int64_t n = positions(v);
  const ValueId one = bias(body, v);
  body.finish({body.node("Reshape", {one, body.integers({1, -1, n, n}, "all")},
                         "output")},
              call);
}

// 1 for the places along an axis that the roll brought in from the other end,
// 0 for the rest. (The edge of the last window parts regions as well, but no
// window lies across it.)
ValueId brought(Body& body, const Spatial& s, std::int64_t axis) {
  const ValueId rest = body.node("Sub", {s.padded, s.shift}, "rest");
  const ValueId is_rest = body.node(
      "Less",
      {places(body, s.padded, axis), part(body, rest, axis, axis + 1, "end")},
      "is_rest");
  return body.node("Cast", {body.node("Not", {is_rest}, "is_brought")},
                   "brought",
                   {Body::integer("to", std::int64_t(ir::DataType::kInt64))});
}

// [windows of a map, 1, positions, positions]: -100 where two positions of a
// window are in different regions.
ValueId seams(Body& body, const WindowVariant& v, const Spatial& s,
              ValueId tiles) {
  const ValueId rows = body.node(
      "Mul", {brought(body, s, 0), body.integers({2}, "two")}, "rows");
  const ValueId column = body.integers({-1, 1}, "column");
  ValueId x = body.node(
      "Add",
      {body.node("Reshape", {rows, column}, "row_column"), brought(body, s, 1)},
      "region");
  x = reshape(body, x,
              {part(body, tiles, 0, 1, "tile_rows"),
               body.integers({v.side[0]}, "height"),
               part(body, tiles, 1, 2, "tile_columns"),
               body.integers({v.side[1]}, "width")},
              "tiled_regions");
  x = transpose(body, x, {0, 2, 1, 3}, "regions_apart");
  const std::int64_t n = positions(v);
  const auto view = [&](std::vector<std::int64_t> sizes) {
    return body.node("Reshape", {x, body.integers(std::move(sizes), "view")},
                     "window_regions");
  };
  const ValueId same =
      body.node("Equal", {view({-1, 1, 1, n}), view({-1, 1, n, 1})}, "same");
  return body.node("Where",
                   {same, body.number(0, "no_seam"), body.number(-100, "seam")},
                   "seams");
}

void write_swin_attention(Body& body, const WindowVariant& v,
                          std::span<const ir::Attribute> call) {
  AttentionInputs in{
      .q = body.input("Q"), .k = body.input("K"), .v = body.input("V")};
  in.mask = bias(body, v);
  const ValueId spatial = body.input("spatial");
  body.set_float_type(v.elem, in.q);
  AttentionVariant attention{.mask = AttentionVariant::Mask::kAdded,
                             .scale_size = v.head_dim,
                             .elem = v.elem};
  std::vector<std::int64_t> perm = {0, 2, 1, 3};
  if (v.shifted) {
    // The windows of a map on an axis of their own, which the seams have.
    const Spatial s = read(body, spatial);
    const ValueId tiles =
        body.node("Div", {s.padded, side_of(body, v)}, "tiles");
    in.mask =
        body.node("Add", {in.mask, seams(body, v, s, tiles)}, "bias_and_seams");
    const ValueId sizes =
        join(body,
             {s.batch,
              body.node("Mul",
                        {part(body, tiles, 0, 1, "tile_rows"),
                         part(body, tiles, 1, 2, "tile_columns")},
                        "windows"),
              body.integers({v.heads, positions(v), v.head_dim}, "heads")},
             "sizes");
    for (ValueId* x : {&in.q, &in.k, &in.v}) {
      *x = body.node("Reshape", {*x, sizes}, "by_map");
    }
    attention.rank = 5;
    perm = {0, 1, 3, 2, 4};
  }
  ValueId y = attend(body, attention, in, "weighed");
  y = transpose(body, y, perm, "heads_together");
  y = body.node(
      "Reshape",
      {y, body.integers({-1, positions(v), v.heads * v.head_dim}, "merged")},
      "Y");
  body.finish({y}, call);
}

}  // namespace

void write_window_op(Body& body, const ir::Op& op, const WindowVariant& v,
                     std::span<const ir::Attribute> call) {
  if (op.type == "SwinWindowPartition") return write_partition(body, v, call);
  if (op.type == "SwinAttention") return write_swin_attention(body, v, call);
  if (op.type == "SwinWindowReverse") return write_reverse(body, v, call);
  write_bias(body, v, call);
}

}  // namespace ruleengine::rewrite
