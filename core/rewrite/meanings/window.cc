// The meaning of ops that cut maps into windows, as Swin does, and of attention
// in those windows. All sizes of maps may be unknown until the model runs.
#include <algorithm>
#include <array>
#include <optional>

#include "core/rewrite/meanings/meanings.h"

namespace ruleengine::rewrite::meanings {
namespace {

using ir::ValueId;
using Pair = std::array<std::int64_t, 2>;

// Writes pieces of arithmetic with lists of sizes.
class Windows {
 public:
  explicit Windows(const Call& call)
      : call_(call), body_(call.body()), side_(pair("window_size", 1)) {}

  const Pair& side() const { return side_; }
  // How many positions a window has.
  std::int64_t positions() const { return side_[0] * side_[1]; }

  // Two numbers, none of which is below `least`.
  Pair pair(std::string_view attribute, std::int64_t least) const {
    const auto ints = call_.ints_of(attribute);
    const auto good = [&](std::int64_t n) {
      return n >= least && n <= kMostSize;
    };
    if (ints.size() == 2 && good(ints[0]) && good(ints[1])) {
      return {ints[0], ints[1]};
    }
    body_.refuse(std::string(attribute) + " is not two " +
                 (least > 0 ? "positive numbers" : "numbers from 0 on"));
    return {1, 1};
  }

  ValueId side_list() const {
    return body_.integers({side_[0], side_[1]}, "window");
  }

  // Entries [from, to) of a list of integers.
  ValueId part(ValueId list, std::int64_t from, std::int64_t to,
               std::string_view name) const {
    return body_.node("Slice",
                      {list, body_.integers({from}, "from"),
                       body_.integers({to}, "to")},
                      name);
  }
  ValueId join(Body::Values lists, std::string_view name) const {
    return body_.node("Concat", std::move(lists), name,
                      {Body::integer("axis", 0)});
  }
  ValueId reshape(ValueId x, Body::Values sizes, std::string_view name) const {
    return body_.node("Reshape", {x, join(std::move(sizes), "sizes")}, name);
  }
  ValueId transpose(ValueId x, const std::vector<std::int64_t>& perm,
                    std::string_view name) const {
    return body_.node("Transpose", {x}, name, {body_.ints("perm", perm)});
  }
  // 0, 1, ... below an entry of a list.
  ValueId places(ValueId sizes, std::int64_t axis) const {
    const ValueId size = body_.node(
        "Gather", {sizes, body_.integers({axis}, "axis", true)}, "size");
    return body_.node("Range",
                      {body_.integers({0}, "zero", true), size,
                       body_.integers({1}, "one", true)},
                      "places");
  }

 private:
  const Call& call_;
  Body& body_;
  Pair side_;
};

// What `spatial` says of a map; `shift` is the effective one.
struct Spatial {
  ValueId batch, size, padded, shift;
};

// Refuses what is known to be no map of such windows.
void check_map(Body& body, const Windows& w, ValueId spatial) {
  const auto known = body.elements(spatial);
  if (!known) return;
  const auto tiles = [&](std::size_t i) {
    const std::int64_t size = (*known)[3 + i];
    return size > 0 && size <= kMostSize && size % w.side()[i] == 0;
  };
  if (known->size() != 7 || !tiles(0) || !tiles(1)) {
    body.refuse("it is not a map of such windows", spatial);
  } else if ((*known)[5] < 0 || (*known)[6] < 0) {
    body.refuse("the shift is negative", spatial);
  }
}

Spatial read(const Windows& w, ValueId spatial) {
  return {.batch = w.part(spatial, 0, 1, "batch"),
          .size = w.part(spatial, 1, 3, "size"),
          .padded = w.part(spatial, 3, 5, "padded_size"),
          .shift = w.part(spatial, 5, 7, "shift")};
}

// False where the map is known not to be rolled: `spatial` is known, or the
// partition that computes it has no shift.
bool is_rolled(const Call& call, ValueId spatial) {
  Body& body = call.body();
  bool rolled = true;
  if (const auto known = body.elements(spatial)) {
    rolled = known->size() != 7 || (*known)[5] != 0 || (*known)[6] != 0;
  } else if (const ir::NodeId node = body.producer(spatial);
             node && body.host().op(node).is("ruleengine",
                                             "SwinWindowPartition")) {
    const ir::Attribute* shift = body.host().attribute(node, "shift_size");
    rolled = shift != nullptr &&
             std::ranges::any_of(shift->ints, [](auto n) { return n != 0; });
  }
  if (!rolled) body.note("not_rolled");
  return rolled;
}

// x along the axes 1 and 2 as it is `step` ("Add") after or ("Sub") before the
// first `count` places, with what falls off one end at the other.
ValueId rolled(Body& body, const Windows& w, ValueId x, const char* step,
               const Spatial& s, ValueId count) {
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const ValueId from =
        body.node(step,
                  {w.places(count, axis),
                   w.part(s.shift, axis, axis + 1, "steps")},
                  "from");
    const ValueId which = body.node(
        "Mod", {from, w.part(s.padded, axis, axis + 1, "length")}, "which");
    x = body.node("Gather", {x, which}, "rolled",
                  {Body::integer("axis", axis + 1)});
  }
  return x;
}

// 1 for the places along an axis that the roll brought in from the other end,
// 0 for the rest. (The edge of the last window parts regions as well, but no
// window lies across it.)
ValueId brought(Body& body, const Windows& w, const Spatial& s,
                std::int64_t axis) {
  const ValueId rest = body.node("Sub", {s.padded, s.shift}, "rest");
  const ValueId is_rest = body.node(
      "Less", {w.places(s.padded, axis), w.part(rest, axis, axis + 1, "end")},
      "is_rest");
  return body.cast(body.node("Not", {is_rest}, "is_brought"),
                   ir::DataType::kInt64, "brought");
}

// [windows of a map, 1, positions, positions]: -100 where two positions of a
// window are in different regions, in the float type of `like`.
ValueId seams(Body& body, const Windows& w, const Spatial& s, ValueId tiles,
              ValueId like) {
  const ValueId rows = body.node(
      "Mul", {brought(body, w, s, 0), body.integers({2}, "two")}, "rows");
  const ValueId column = body.integers({-1, 1}, "column");
  ValueId x = body.node("Add",
                        {body.node("Reshape", {rows, column}, "row_column"),
                         brought(body, w, s, 1)},
                        "region");
  x = w.reshape(x,
                {w.part(tiles, 0, 1, "tile_rows"),
                 body.integers({w.side()[0]}, "height"),
                 w.part(tiles, 1, 2, "tile_columns"),
                 body.integers({w.side()[1]}, "width")},
                "tiled_regions");
  x = w.transpose(x, {0, 2, 1, 3}, "regions_apart");
  const std::int64_t n = w.positions();
  const auto view = [&](const std::vector<std::int64_t>& sizes) {
    return body.node("Reshape", {x, body.integers(sizes, "view")},
                     "window_regions");
  };
  const ValueId same =
      body.node("Equal", {view({-1, 1, 1, n}), view({-1, 1, n, 1})}, "same");
  return body.node("Where",
                   {same, body.number(0, like, "no_seam"),
                    body.number(-100, like, "seam")},
                   "seams");
}

}  // namespace

// The rows of the table that the index selects, as [1,heads,N,N].
Body::Values relative_position_bias(const Call& call) {
  Body& body = call.body();
  const Windows w(call);
  const std::int64_t n = w.positions();
  const ValueId places = body.node(
      "Reshape", {call["index"], body.integers({-1}, "flat")}, "places");
  const ValueId rows = body.node("Gather", {call["table"], places}, "rows",
                                 {Body::integer("axis", 0)});
  const ValueId pairs = body.node(
      "Reshape", {rows, body.integers({n, n, -1}, "square")}, "pairs");
  return {body.node("Unsqueeze",
                    {w.transpose(pairs, {2, 0, 1}, "bias"),
                     body.integers({0}, "first")},
                    "output")};
}

Body::Values window_partition(const Call& call) {
  Body& body = call.body();
  const Windows w(call);
  const Pair shift = w.pair("shift_size", 0);
  ValueId x = call["x"];
  const ValueId shape = body.node("Shape", {x}, "shape");
  const ValueId side = w.side_list();
  const ValueId less =
      body.integers({w.side()[0] - 1, w.side()[1] - 1}, "window_less_one");
  const ValueId zeros = body.integers({0, 0}, "no_shift");
  Spatial s{.size = w.part(shape, 1, 3, "size"), .shift = zeros};
  const ValueId tiles = body.node(
      "Div", {body.node("Add", {s.size, less}, "size_and_more"), side},
      "tiles");
  s.padded = body.node("Mul", {tiles, side}, "padded_size");
  const ValueId missing = body.node("Sub", {s.padded, s.size}, "missing");
  if (!body.is_zero(missing)) {
    x = body.node("Pad",
                  {x, w.join({body.integers({0, 0, 0, 0, 0}, "before"), missing,
                              body.integers({0}, "behind")},
                             "pads")},
                  "padded");
  }
  if (shift != Pair{0, 0}) {
    s.shift = body.node("Where",
                        {body.node("Less", {side, s.padded}, "is_cut"),
                         body.integers({shift[0], shift[1]}, "wanted"), zeros},
                        "shift");
    if (!body.is_zero(s.shift)) x = rolled(body, w, x, "Add", s, s.padded);
  }
  const ValueId channels = w.part(shape, 3, 4, "channels");
  x = w.reshape(
      x,
      {body.integers({0}, "batch"), w.part(tiles, 0, 1, "rows"),
       body.integers({w.side()[0]}, "height"), w.part(tiles, 1, 2, "columns"),
       body.integers({w.side()[1]}, "width"), channels},
      "tiled");
  x = w.transpose(x, {0, 1, 3, 2, 4, 5}, "apart");
  x = w.reshape(x, {body.integers({-1, w.positions()}, "cut"), channels},
                "windows");
  return {x, w.join({w.part(shape, 0, 3, "unpadded"), s.padded, s.shift},
                    "spatial")};
}

Body::Values window_reverse(const Call& call) {
  Body& body = call.body();
  const Windows w(call);
  ValueId x = call["windows"];
  const ValueId spatial = call["spatial"];
  check_map(body, w, spatial);
  const Spatial s = read(w, spatial);
  const ValueId side = w.side_list();
  const ValueId channels =
      w.part(body.node("Shape", {x}, "shape"), 2, 3, "channels");
  x = w.reshape(
      x, {s.batch, body.node("Div", {s.padded, side}, "tiles"), side, channels},
      "tiled");
  x = w.transpose(x, {0, 1, 3, 2, 4, 5}, "together");
  x = w.reshape(x, {s.batch, s.padded, channels}, "map");
  if (is_rolled(call, spatial)) return {rolled(body, w, x, "Sub", s, s.size)};
  if (body.is_zero(body.node("Sub", {s.padded, s.size}, "missing"))) return {x};
  return {body.node("Slice",
                    {x, body.integers({0, 0}, "start"), s.size,
                     body.integers({1, 2}, "axes")},
                    "cropped")};
}

// softmax(q k^T / sqrt(head_dim) + bias + seams) v, with the heads merged.
Body::Values swin_attention(const Call& call) {
  Body& body = call.body();
  const Windows w(call);
  const std::int64_t heads = call.int_of("num_heads");
  const std::int64_t head_dim = call.int_of("head_dim");
  if (heads <= 0 || head_dim <= 0 || heads > kMostSize / head_dim) {
    body.refuse("num_heads and head_dim are not two positive numbers");
    return {};
  }
  const ir::Attribute window[] = {
      body.ints("window_size", {w.side()[0], w.side()[1]})};
  ValueId mask =
      write_meaning(body, "ruleengine", "RelativePositionBias",
                    {call["table"], call["index"]}, window)[0];
  const ValueId spatial = call["spatial"];
  check_map(body, w, spatial);
  if (is_rolled(call, spatial)) {
    const Spatial s = read(w, spatial);
    const ValueId tiles = body.node("Div", {s.padded, w.side_list()}, "tiles");
    mask = body.node("Add", {mask, seams(body, w, s, tiles, call["Q"])},
                     "bias_and_seams");
    // The seams of one map, once for each map of the batch.
    const ValueId ones = body.integers({1, 1, 1}, "once");
    if (!body.is_one(s.batch)) {
      mask = body.node("Tile", {mask, w.join({s.batch, ones}, "repeats")},
                       "masks");
    }
  }
  const ValueId y =
      body.call("ruleengine", "ScaledDotProductAttention",
                {call["Q"], call["K"], call["V"], mask},
                {Body::integer("head_dim", head_dim),
                 Body::integer("num_heads", heads)})[0];
  return {body.node(
      "Reshape",
      {w.transpose(y, {0, 2, 1, 3}, "heads_together"),
       body.integers({0, 0, heads * head_dim}, "merged")},
      "Y")};
}

}  // namespace ruleengine::rewrite::meanings
