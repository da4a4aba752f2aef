// Linear layers of quantized numbers.
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;
using ir::ValueId;

constexpr FormalAttribute kToFloat[] = {with("out_dtype", 1)};

constexpr FormalAttribute kGroupToFloat[] = {with("group_size", 32),
                                             with("out_dtype", 1)};

constexpr FormalValue kStaticIn[] = {in("x"),
                                     in("w", "W"),
                                     in("w_scale", "S"),
                                     opt("w_offset", "O"),
                                     opt("x_scale", "S2"),
                                     opt("x_offset", "O2"),
                                     opt("bias", "B")};

constexpr FormalValue kScaledIn[] = {in("x"), in("w", "W"), in("x_scale", "S"),
                                     in("w_scale", "S2"), opt("bias", "B")};

constexpr FormalValue kScaledOut[] = {in("Y", "R")};

// The product of x, which its scale and offset at `kOfX` may widen, and w; the
// bias is added to it.
template <std::size_t kBias, std::size_t... kOfX>
bool quantized_linear(const NodeView& v, Outputs out) {
  out[0].elem = out_dtype(v);
  if (!v.ranked(0) || v.rank(0) == 0) return true;
  out[0].set_dims(v.shape(0));
  (widen(v, kOfX, out[0]), ...);
  const bool known = v.ranked(1) && v.rank(1) == 2;
  out[0].dims.back() = known ? v.shape(1)[1] : kUnknown;
  widen(v, kBias, out[0]);
  return true;
}

double scaled_linear(const SizedNode& n) { return n.out(0) * n.in(1, 0); }

class QuantizedLinear {
 public:
  explicit QuantizedLinear(const CallSite& call)
      : call_(call), body_(call.body()) {}

  // An input as float; invalid where it is absent.
  ValueId real(std::string_view input) const {
    const ValueId value = call_[input];
    if (!value || call_.elem(input) == DataType::kFloat) return value;
    return body_.cast(value, DataType::kFloat, std::string(input) + "_float");
  }

  // The same of a scale or an offset of w [K,N]: one for all, for each column,
  // or for each column of each group of rows, spread over the rows of a group.
  ValueId by_row(std::string_view input) const {
    const ValueId value = real(input);
    if (!value) return value;
    const auto rank = call_.rank(input);
    if (!rank || *rank > 2) {
      body_.refuse("the scale belongs to a different weight", call_[input]);
      return value;
    }
    const std::int64_t columns = call_.quiet_size("w", 1);
    const std::int64_t own = call_.quiet_size(input, 1);
    if (columns > 0 && own > 0 && own != columns && !(*rank < 2 && own == 1)) {
      body_.refuse("the scale belongs to a different weight", call_[input]);
    }
    if (*rank < 2) return value;
    const std::int64_t rows = call_.quiet_size("w", 2);
    const std::int64_t groups = call_.quiet_size(input, 2);
    if (rows > 0 && groups > 0 && rows % groups != 0) {
      body_.refuse("the groups do not divide the rows of the weight",
                   call_[input]);
    }
    return repeated(value, call_["w"], 0);
  }

  // `scale`, [..., G, ...] along an axis, each entry as often as w has numbers
  // there for each.
  ValueId repeated(ValueId scale, ValueId w, std::int64_t axis) const {
    const ValueId length = body_.size_of(w, axis, "length");
    const ValueId size = body_.node(
        "Div", {length, body_.size_of(scale, axis, "groups")}, "group_size");
    const ValueId group =
        body_.node("Div", {body_.places_below(length), size}, "group");
    return body_.node("Gather", {scale, group}, "by_place",
                      {Body::integer("axis", axis)});
  }

  // x w + b, in the type of the result.
  Body::Values product(ValueId x, ValueId w) const {
    ValueId y = body_.node("MatMul", {x, w}, "product");
    y = body_.plus(y, real("bias"), "sum");
    const DataType elem = element_type(call_.int_of("out_dtype"));
    if (!ir::is_float(elem)) body_.refuse("out_dtype is not a type of floats");
    return {elem == DataType::kFloat ? y : body_.cast(y, elem, "Y")};
  }

 private:
  const CallSite& call_;
  Body& body_;
};

// The number of each code of E2M1, as a float.
ValueId e2m1(Body& body, ValueId codes) {
  const ValueId numbers = body.floats(
      {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6},
      "e2m1");
  return body.node("Gather",
                   {numbers, body.cast(codes, DataType::kInt64, "places")},
                   "numbers");
}

// ((x - x_offset) x_scale) ((w - w_offset) w_scale) + bias
Body::Values static_quant_linear(const CallSite& call) {
  Body& body = call.body();
  const QuantizedLinear layer(call);
  ValueId x = layer.real("x"), w = layer.real("w");
  if (const ValueId offset = layer.real("x_offset")) {
    x = body.node("Sub", {x, offset}, "x_centred");
  }
  if (const ValueId scale = layer.real("x_scale")) {
    x = body.node("Mul", {x, scale}, "x_scaled");
  }
  if (const ValueId offset = layer.by_row("w_offset")) {
    w = body.node("Sub", {w, offset}, "w_centred");
  }
  w = body.node("Mul", {w, layer.by_row("w_scale")}, "w_scaled");
  return layer.product(x, w);
}

// (x x_scale) (w w_scale) + bias
Body::Values fp8_linear(const CallSite& call) {
  Body& body = call.body();
  const QuantizedLinear layer(call);
  if (call.rank("w_scale").value_or(0) == 2) {
    body.refuse("the scale of the weight is not one for all or for each column",
                call["w_scale"]);
  }
  const ValueId x =
      body.node("Mul", {layer.real("x"), layer.real("x_scale")}, "x_scaled");
  const ValueId w =
      body.node("Mul", {layer.real("w"), layer.by_row("w_scale")}, "w_scaled");
  return layer.product(x, w);
}

// (E2M1[x] x_scale) (E2M1[w] w_scale) + bias; each scale serves `group_size`
// numbers along x's last axis and w's first.
Body::Values mxfp4_linear(const CallSite& call) {
  Body& body = call.body();
  const QuantizedLinear layer(call);
  const auto rank = call.rank("x");
  const std::int64_t group = call.quiet_int("group_size");
  const std::int64_t width = call.quiet_size("w", 2);
  if (!rank || *rank == 0 || call.rank("x_scale") != rank || group <= 0 ||
      group > kMostSize) {
    body.refuse("the scale is of other groups", call["x_scale"]);
    return {};
  }
  const auto fits = [&](std::int64_t groups) {
    return width <= 0 || groups <= 0 || groups * group == width;
  };
  if (!fits(call.quiet_size("x_scale", 1)) ||
      !fits(call.quiet_size("w_scale", 2))) {
    body.refuse("the scale is of other groups", call["w_scale"]);
    return {};
  }
  const ValueId x =
      body.node("Mul",
                {e2m1(body, call["x"]),
                 layer.repeated(layer.real("x_scale"), call["x"],
                                static_cast<std::int64_t>(*rank) - 1)},
                "x_scaled");
  const ValueId w = body.node(
      "Mul", {e2m1(body, call["w"]), layer.by_row("w_scale")}, "w_scaled");
  return layer.product(x, w);
}

constexpr OpRow kDialectQuantizedLinear[] = {
    ours(dialect::kCast, "fp8_linear", kScaledIn, kScaledOut, kToFloat,
         {.types = {quantized_linear<4, 2>},
          .products = scaled_linear,
          .formula = "(x x_scale) (w w_scale) + bias",
          .meaning = fp8_linear}),
    ours(dialect::kCast, "mxfp4_linear", kScaledIn, kScaledOut, kGroupToFloat,
         {.types = {quantized_linear<4>},  // x_scale is of blocks
          .products = scaled_linear,
          .formula = "(E2M1[x] x_scale) (E2M1[w] w_scale) + bias",
          .meaning = mxfp4_linear}),
    ours(dialect::kCast, "static_quant_linear", kStaticIn, kScaledOut, kToFloat,
         {.types = {quantized_linear<6, 4, 5>},
          .products = scaled_linear,
          .formula = "((x - x_offset) x_scale) ((w - w_offset) w_scale) + bias",
          .meaning = static_quant_linear}),
    ours(dialect::kCast, "static_quant_linear_int4", kStaticIn, kScaledOut,
         kToFloat,
         {.types = {quantized_linear<6, 4, 5>},
          .products = scaled_linear,
          .formula = "static_quant_linear with w from -8 to 7",
          .meaning = static_quant_linear}),
};

}  // namespace

std::span<const OpRow> dialect::quantized_linear() {
  return kDialectQuantizedLinear;
}

}  // namespace ruleengine::ops
