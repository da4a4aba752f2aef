// Quantizers to integers.
#include <algorithm>

#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/index_math.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;
using ir::ValueId;

constexpr std::int64_t kLastAxis[] = {-1};

constexpr FormalAttribute kToInt8[] = {with("out_dtype", 3)};

constexpr FormalAttribute kDynamic[] = {with("dims", kLastAxis),
                                        with("out_dtype", 3)};

constexpr FormalValue kQuantizeIn[] = {in("x"), in("scale", "S"),
                                       opt("offset", "O")};

constexpr FormalValue kQuantizeOut[] = {in("q", "Q")};

constexpr FormalValue kSymmetricOut[] = {in("q", "Q"), opt("scale", "S")};

constexpr FormalValue kAsymmetricOut[] = {in("q", "Q"), opt("scale", "S"),
                                          opt("offset", "O")};

// q like x.
bool quantized(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = out_dtype(v);
  return true;
}

// x / scale + offset
bool quantize(const NodeView& v, Outputs out) {
  quantized(v, out);
  widen(v, 1, out[0]);
  widen(v, 2, out[0]);
  return true;
}

// q like x; scale (and offset) with the reduced axes kept as 1, or a scalar.
bool dynamic_quantize(const NodeView& v, Outputs out) {
  quantized(v, out);
  for (std::size_t o = 1; o < out.size(); ++o) {
    out[o].elem = o == 1 ? DataType::kFloat : DataType::kInt32;
    const auto axes = v.attribute_ints("dims");
    if (!axes) continue;
    if (axes->empty()) {
      out[o].set_dims(Shape());
    } else if (v.ranked(0)) {
      const auto reduced = flags(*axes, v.rank(0));
      if (!reduced) continue;
      out[o].set_dims(v.shape(0));
      for (std::size_t i = 0; i < reduced->size(); ++i) {
        if ((*reduced)[i]) out[o].dims[i] = Dim(1);
      }
    }
  }
  return true;
}

// Each row by itself, or what `dims` leaves together.
bool quantizes_rows(Flow& flow, Port port, int axis) {
  const ir::Type* in = flow.types.inputs[0];
  if (!is_ranked(in)) return false;
  const auto dims = flow.node.attribute_ints("dims");
  if (!dims || dims->empty()) return false;
  const int rank = Flow::rank(in);
  return std::ranges::none_of(*dims,
                              [&](std::int64_t d) {
                                return Flow::from_front(d, rank) == axis;
                              }) &&
         flow_like_first(flow, port, axis);
}

// The numbers of an integer type that a float counts exactly.
struct Range {
  DataType elem = DataType::kUndefined;
  float least = 0, most = 0;
};

Range range(const CallSite& call) {
  const DataType elem = element_type(call.int_of("out_dtype"));
  switch (elem) {
    case DataType::kUint8:
      return {elem, 0, 255};
    case DataType::kInt8:
      return {elem, -128, 127};
    case DataType::kUint16:
      return {elem, 0, 65535};
    case DataType::kInt16:
      return {elem, -32768, 32767};
    default:
      call.body().refuse("out_dtype is not an integer type of 8 or 16 bits");
      return {};
  }
}

class Quantizer {
 public:
  // `x` is what the op's row calls its input.
  Quantizer(const CallSite& call, std::string_view x)
      : call_(call), body_(call.body()), range_(range(call)), wide_(call, x) {}

  const Range& limits() const { return range_; }
  ValueId input(std::string_view name) const { return wide_.input(name); }
  ValueId from_float(ValueId v) const {
    return wide_.cast(v, DataType::kFloat);
  }
  ValueId number(float value, std::string_view name) const {
    return body_.number(value, wide_.elem(), name);
  }

  // The reduction along `dims`, which stay as 1; over all axes where there are
  // none.
  ValueId reduced(std::string_view op, ValueId x) const {
    const auto dims = call_.ints_of("dims");
    if (dims.empty()) {
      return body_.node(op, {x}, "extreme", {Body::integer("keepdims", 0)});
    }
    return body_.node(op, {x, body_.integers(dims, "dims")}, "extreme",
                      {Body::integer("keepdims", 1)});
  }

  // The scale, in float, that spreads numbers up to `top` over so many steps; 1
  // where no float is as small.
  ValueId scale(ValueId top, float steps) const {
    ValueId step = body_.node("Div", {top, number(steps, "steps")}, "step");
    if (wide_.elem() != DataType::kFloat) {
      step = body_.cast(step, DataType::kFloat, "step_float");
    }
    const auto plain = [&](float value, std::string_view name) {
      return body_.number(value, DataType::kFloat, name);
    };
    const ValueId none =
        body_.node("Equal", {step, plain(0, "zero")}, "is_zero");
    return body_.node("Where", {none, plain(1, "one"), step}, "scale");
  }

  ValueId rounded(ValueId v) const {
    return body_.node("Round", {v}, "rounded");
  }

  ValueId clipped(ValueId y, float least) const {
    // Older runtimes clip floats alone.
    const ValueId below =
        body_.node("Min", {y, number(range_.most, "most")}, "not_above");
    const ValueId in_range =
        body_.node("Max", {below, number(least, "least")}, "clipped");
    return body_.cast(in_range, range_.elem, "q");
  }

 private:
  const CallSite& call_;
  Body& body_;
  Range range_;
  Wide wide_;
};

// clip(round(x / scale + offset))
Body::Values quantize(const CallSite& call) {
  const Quantizer q(call, "x");
  Body& body = call.body();
  if (body.refusal()) return {};
  ValueId y = body.node("Div", {q.input("x"), q.input("scale")}, "steps");
  if (call["offset"]) {
    y = body.node("Add", {y, q.input("offset")}, "moved");
  }
  return {q.clipped(q.rounded(y), q.limits().least)};
}

// clip(round(x / scale)), scale = max|x| / most
Body::Values dynamic_quantize_symmetric(const CallSite& call) {
  const Quantizer q(call, "X");
  Body& body = call.body();
  if (body.refusal()) return {};
  if (q.limits().least == 0) {
    body.refuse("out_dtype is not a signed integer type");
    return {};
  }
  const ValueId x = q.input("X");
  const ValueId top =
      q.reduced("ReduceMax", body.node("Abs", {x}, "magnitudes"));
  const ValueId scale = q.scale(top, q.limits().most);
  const ValueId y = body.node("Div", {x, q.from_float(scale)}, "steps");
  return {q.clipped(q.rounded(y), -q.limits().most), scale};
}

// clip(round(x / scale) + offset), scale = (high - low) / (most - least),
// offset = round(least - low / scale), where low and high enclose 0.
Body::Values dynamic_quantize_asymmetric(const CallSite& call) {
  const Quantizer q(call, "X");
  Body& body = call.body();
  if (body.refusal()) return {};
  const ValueId x = q.input("X"), zero = q.number(0, "zero");
  const ValueId low =
      body.node("Min", {q.reduced("ReduceMin", x), zero}, "low");
  const ValueId high =
      body.node("Max", {q.reduced("ReduceMax", x), zero}, "high");
  const float least = q.limits().least;
  const ValueId scale =
      q.scale(body.node("Sub", {high, low}, "width"), q.limits().most - least);
  const ValueId step = q.from_float(scale);
  const ValueId offset = q.rounded(body.node(
      "Sub",
      {q.number(least, "least"), body.node("Div", {low, step}, "low_steps")},
      "offset_unrounded"));
  const ValueId y = body.node(
      "Add", {q.rounded(body.node("Div", {x, step}, "steps")), offset},
      "moved");
  return {q.clipped(y, least), scale,
          body.cast(offset, DataType::kInt32, "offset")};
}

constexpr OpRow kDialectQuantizers[] = {
    ours(dialect::kCast, "dynamic_quantize_asymmetric", kX, kAsymmetricOut,
         kDynamic,
         {.types = {dynamic_quantize},
          .axes = quantizes_rows,
          .formula =
              "clip(round(x / scale) + offset), scale = (high - "
              "low) / (most - least), offset = round(least - low / scale); "
              "low and high are the extremes along dims, 0 among "
              "them",
          .meaning = dynamic_quantize_asymmetric}),
    ours(dialect::kCast, "dynamic_quantize_symmetric", kX, kSymmetricOut,
         kDynamic,
         {.types = {dynamic_quantize},
          .axes = quantizes_rows,
          .formula = "clip(round(x / scale)), scale = max(abs(x)) / most "
                     "along dims",
          .meaning = dynamic_quantize_symmetric}),
    ours(dialect::kCast, "quantize", kQuantizeIn, kQuantizeOut, kToInt8,
         {.types = {quantize},
          .axes = flow_elementwise,
          .formula = "clip(round(x / scale + offset))",
          .meaning = quantize}),
};

}  // namespace

std::span<const OpRow> dialect::quantizers() { return kDialectQuantizers; }

}  // namespace ruleengine::ops
