// Quantizing to floats of four bits, with a scale for each group.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;
using ir::ValueId;

constexpr FormalAttribute kGroup[] = {with("group_size", 32)};

constexpr FormalValue kMxfp4Out[] = {in("q", "Q"), opt("scale", "S")};

bool dynamic_quantize_mxfp4(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = DataType::kUint8;
  if (out.size() < 2) return true;
  out[1].elem = DataType::kFloat;
  const auto group = v.attribute_int("group_size");
  if (!v.ranked(0) || v.rank(0) == 0 || group <= 0) return true;
  out[1].set_dims(v.shape(0));
  out[1].dims.back() = v.dims().floor_div(v.shape(0).back(), Dim(group));
  return true;
}

// A group lies along the last axis.
bool quantizes_groups(Flow& flow, Port port, int axis) {
  const ir::Type* in = flow.types.inputs[0];
  return is_ranked(in) && axis != Flow::rank(in) - 1 &&
         flow_like_first(flow, port, axis);
}

constexpr int kLeastPower = -149;  // of a subnormal float
constexpr int kMostPower = 127;

// The largest power of two that is not above x, a positive float, as a float,
// times 2^shift. A logarithm is near enough to it to be one place off at most,
// which comparisons put right.
ValueId power_of_two(Body& body, ValueId x, int shift) {
  std::vector<float> powers, shifted;
  for (int p = kLeastPower; p <= kMostPower; ++p) {
    powers.push_back(std::ldexp(1.0f, p));
    shifted.push_back(std::ldexp(1.0f, p + shift));
  }
  powers.push_back(std::numeric_limits<float>::infinity());
  shifted.push_back(std::numeric_limits<float>::infinity());
  const auto real = [&](float value, std::string_view name) {
    return body.number(value, DataType::kFloat, name);
  };
  const ValueId log = body.node(
      "Div", {body.node("Log", {x}, "ln"), real(std::log(2.0f), "ln_2")},
      "log2");
  const ValueId floor = body.node("Floor", {log}, "floor");
  const ValueId place = body.node(
      "Clip",
      {body.node("Sub", {floor, real(kLeastPower, "least_power")}, "place"),
       real(0, "first"),
       real(static_cast<float>(kMostPower - kLeastPower), "end")},
      "place_in_range");
  ValueId at = body.cast(place, DataType::kInt64, "guess");
  // NaN gets the first place.
  const ValueId none = body.integers({0}, "none", true);
  at = body.node("Where", {body.node("Less", {at, none}, "is_nan"), none, at},
                 "first_guess");
  const ValueId all = body.floats(powers, "powers");
  // One less where the guess is above x, one more where the next is not.
  const ValueId above = body.node(
      "Greater", {body.node("Gather", {all, at}, "power"), x}, "is_above");
  at = body.node("Sub", {at, body.cast(above, DataType::kInt64, "less")},
                 "lowered");
  const ValueId next =
      body.node("Add", {at, body.integers({1}, "one", true)}, "next_place");
  const ValueId beyond =
      body.node("Greater", {body.node("Gather", {all, next}, "next_power"), x},
                "is_beyond");
  at = body.node("Where", {beyond, at, next}, "exact");
  return body.node("Gather", {body.floats(shifted, "scales"), at}, "scale");
}

// The codes of numbers in E2M1: how many midpoints between neighbouring
// magnitudes are below; the sign is the fourth bit.
ValueId e2m1_codes(Body& body, ValueId scaled, ValueId x) {
  const ValueId size = body.node("Abs", {scaled}, "magnitudes");
  ValueId count;
  for (float midpoint : {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f}) {
    const ValueId limit = body.number(midpoint, DataType::kFloat, "midpoint");
    const ValueId above =
        body.cast(body.node("Greater", {size, limit}, "is_above"),
                  DataType::kFloat, "counted");
    count = count ? body.node("Add", {count, above}, "count") : above;
  }
  const ValueId zero = body.number(0, DataType::kFloat, "zero");
  const ValueId negative = body.cast(
      body.node("Less", {x, zero}, "is_negative"), DataType::kFloat, "sign");
  const ValueId sign = body.node(
      "Mul", {negative, body.number(8, DataType::kFloat, "eight")}, "sign_bit");
  return body.cast(body.node("Add", {count, sign}, "code"), DataType::kUint8,
                   "codes");
}

// Groups of `group_size` numbers along the last axis, each with the scale
// 2^(floor(log2 max|x|) - 2), 1 where all are 0; the codes nearest to x /
// scale.
Body::Values dynamic_quantize_mxfp4(const CallSite& call) {
  Body& body = call.body();
  const std::int64_t group = call.int_of("group_size");
  const auto rank = call.rank("X");
  if (!rank || *rank == 0 || group <= 0 || group > kMostSize) {
    body.refuse("the groups are not known");
    return {};
  }
  ValueId x = call["X"];
  if (call.quiet_size("X", 1) % group != 0) {
    body.refuse("the groups do not divide the last axis", x);
    return {};
  }
  if (call.elem("X") != DataType::kFloat) {
    x = body.cast(x, DataType::kFloat, "wide");
  }
  const ValueId shape = body.node("Shape", {x}, "shape");
  const std::int64_t last = static_cast<std::int64_t>(*rank) - 1;
  const ValueId width = body.entries(shape, last, last + 1, "width");
  const ValueId size = body.integers({group}, "group_size");
  const ValueId leading = body.entries(shape, 0, last, "leading");
  const ValueId groups_shape =
      body.joined({leading, body.node("Div", {width, size}, "count"), size},
                  "groups_shape");
  const ValueId groups = body.node("Reshape", {x, groups_shape}, "groups");
  const ValueId top = body.node(
      "ReduceMax",
      {body.node("Abs", {groups}, "magnitudes"), body.integers({-1}, "last")},
      "largest", {Body::integer("keepdims", 1)});
  const ValueId none = body.node(
      "Equal", {top, body.number(0, DataType::kFloat, "zero")}, "is_zero");
  const ValueId positive =
      body.node("Where", {none, body.number(4, DataType::kFloat, "four"), top},
                "positive");
  const ValueId scale = power_of_two(body, positive, -2);
  const ValueId codes =
      e2m1_codes(body, body.node("Div", {groups, scale}, "scaled"), groups);
  return {body.node("Reshape", {codes, shape}, "q"),
          body.node("Squeeze", {scale, body.integers({-1}, "last")}, "scale")};
}

constexpr OpRow kDialectMxfp4[] = {
    ours(dialect::kCast, "dynamic_quantize_mxfp4", kX, kMxfp4Out, kGroup,
         {.types = {dynamic_quantize_mxfp4},
          .axes = quantizes_groups,
          .formula = "the E2M1 code nearest to x / scale, scale = "
                     "2^(floor(log2 max(abs(x))) - 2) of each group",
          .meaning = dynamic_quantize_mxfp4}),
};

}  // namespace

std::span<const OpRow> dialect::mxfp4() { return kDialectMxfp4; }

}  // namespace ruleengine::ops
