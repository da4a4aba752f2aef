// Windows of a map: how they are cut and put together, and the bias of
// relative positions in them.
#include "core/ops/dialect/our_row.h"
#include "core/ops/dialect/window_map.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;
using ir::ValueId;

constexpr FormalValue kBiasIn[] = {in("table"), in("index", kInt64)};
constexpr FormalAttribute kWindow[] = {need("window_size", kInts)};

constexpr FormalValue kPartitionIn[] = {in("x")};
constexpr FormalValue kPartitionOut[] = {in("windows"), in("spatial", kInt64)};
constexpr FormalAttribute kPartition[] = {with("shift_size", kNoShift),
                                          need("window_size", kInts)};

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
  const Window w = window(v);
  if (output != 1 || !v.ranked(0) || v.rank(0) != 4 || w.height == kUnknown) {
    return std::nullopt;
  }
  const auto shift = v.attribute_ints("shift_size");
  if (!shift || shift->size() != 2) return std::nullopt;
  const auto x = v.shape(0);
  Elements out(x.begin(), x.begin() + 3);
  const Dim sides[] = {w.height, w.width};
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim tiles = v.dims().ceil_div(x[1 + i], sides[i]);
    out.push_back(v.dims().mul(tiles, sides[i]));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim padded = out[3 + i];
    // No shift where one window covers the axis.
    const bool covered = padded == sides[i];
    out.push_back(covered || (*shift)[i] == 0 ? Dim(0)
                  : padded.known()            ? Dim((*shift)[i])
                                              : kUnknown);
  }
  return out;
}

// x along the axes 1 and 2 as it is `step` ("Add") after or ("Sub") before the
// first `count` places, with what falls off one end at the other.
ValueId rolled(Body& body, ValueId x, const char* step, const Spatial& s,
               ValueId count) {
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const ValueId from =
        body.node(step,
                  {places_below(body, count, axis),
                   body.entries(s.shift, axis, axis + 1, "steps")},
                  "from");
    const ValueId which = body.node(
        "Mod", {from, body.entries(s.padded, axis, axis + 1, "length")},
        "which");
    x = body.node("Gather", {x, which}, "rolled",
                  {Body::integer("axis", axis + 1)});
  }
  return x;
}

// The rows of the table that the index selects, as [1,heads,N,N].
Body::Values relative_position_bias(const CallSite& call) {
  Body& body = call.body();
  const Windows w(call);
  const ValueId places = body.reshaped(call["index"], {-1}, "flat", "places");
  const ValueId rows = body.node("Gather", {call["table"], places}, "rows",
                                 {Body::integer("axis", 0)});
  const ValueId pairs =
      body.reshaped(rows, {w.positions, w.positions, -1}, "square", "pairs");
  return {body.node(
      "Unsqueeze",
      {body.transposed(pairs, {2, 0, 1}, "bias"), body.integers({0}, "first")},
      "output")};
}

Body::Values window_partition(const CallSite& call) {
  Body& body = call.body();
  const Windows w(call);
  const Pair shift = pair_of(call, "shift_size", 0);
  ValueId x = call["x"];
  const ValueId shape = body.node("Shape", {x}, "shape");
  const ValueId side = list_of(body, w.side, "window");
  const ValueId less =
      body.integers({w.side[0] - 1, w.side[1] - 1}, "window_less_one");
  const ValueId zeros = body.integers({0, 0}, "no_shift");
  Spatial s{.size = body.entries(shape, 1, 3, "size"), .shift = zeros};
  const ValueId tiles = body.node(
      "Div", {body.node("Add", {s.size, less}, "size_and_more"), side},
      "tiles");
  s.padded = body.node("Mul", {tiles, side}, "padded_size");
  const ValueId missing = body.node("Sub", {s.padded, s.size}, "missing");
  if (!body.is_zero(missing)) {
    x = body.node("Pad",
                  {x, body.joined({body.integers({0, 0, 0, 0, 0}, "before"),
                                   missing, body.integers({0}, "behind")},
                                  "pads")},
                  "padded");
  }
  if (shift != Pair{0, 0}) {
    s.shift = body.node("Where",
                        {body.node("Less", {side, s.padded}, "is_cut"),
                         body.integers({shift[0], shift[1]}, "wanted"), zeros},
                        "shift");
    if (!body.is_zero(s.shift)) x = rolled(body, x, "Add", s, s.padded);
  }
  const ValueId channels = body.entries(shape, 3, 4, "channels");
  x = reshaped_to(
      body, x,
      {body.integers({0}, "batch"), body.entries(tiles, 0, 1, "rows"),
       body.integers({w.side[0]}, "height"),
       body.entries(tiles, 1, 2, "columns"),
       body.integers({w.side[1]}, "width"), channels},
      "tiled");
  x = body.transposed(x, {0, 1, 3, 2, 4, 5}, "apart");
  x = reshaped_to(body, x, {body.integers({-1, w.positions}, "cut"), channels},
                  "windows");
  return {
      x, body.joined({body.entries(shape, 0, 3, "unpadded"), s.padded, s.shift},
                     "spatial")};
}

Body::Values window_reverse(const CallSite& call) {
  Body& body = call.body();
  const Windows w(call);
  ValueId x = call["windows"];
  const ValueId spatial = call["spatial"];
  const Spatial s = read_spatial(body, w, spatial);
  const ValueId side = list_of(body, w.side, "window");
  const ValueId channels =
      body.entries(body.node("Shape", {x}, "shape"), 2, 3, "channels");
  x = reshaped_to(
      body, x,
      {s.batch, body.node("Div", {s.padded, side}, "tiles"), side, channels},
      "tiled");
  x = body.transposed(x, {0, 1, 3, 2, 4, 5}, "together");
  x = reshaped_to(body, x, {s.batch, s.padded, channels}, "map");
  if (is_rolled(call, spatial)) return {rolled(body, x, "Sub", s, s.size)};
  if (body.is_zero(body.node("Sub", {s.padded, s.size}, "missing"))) return {x};
  return {body.node("Slice",
                    {x, body.integers({0, 0}, "start"), s.size,
                     body.integers({1, 2}, "axes")},
                    "cropped")};
}

constexpr OpRow kDialectWindows[] = {
    ours(dialect::kOwn, "RelativePositionBias", kBiasIn, kOutput, kWindow,
         {.types = {relative_position_bias},
          .formula =
              "the rows of the table that the index selects, as [1,H,N,N]",
          .meaning = relative_position_bias}),
    ours(dialect::kOwn, "SwinWindowPartition", kPartitionIn, kPartitionOut,
         kPartition,
         {.types = {window_partition},
          .elements = {window_partition, 0, 1},
          .formula = "x padded, rolled by -shift_size and cut into "
                     "windows; its sizes",
          .meaning = window_partition}),
    ours(dialect::kOwn, "SwinWindowReverse", kReverseIn, kY, kWindow,
         {.types = {window_reverse, 2},
          .formula = "the reverse of SwinWindowPartition",
          .meaning = window_reverse}),
};

}  // namespace

std::span<const OpRow> dialect::windows() { return kDialectWindows; }

}  // namespace ruleengine::ops
