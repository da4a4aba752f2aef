// The meaning of quantizers. All compute in float, or in double where x is.
#include <cmath>
#include <limits>

#include "core/rewrite/meanings/meanings.h"

namespace ruleengine::rewrite::meanings {
namespace {

using ir::DataType;
using ir::ValueId;

// The numbers of an integer type that a float counts exactly.
struct Range {
  DataType elem = DataType::kUndefined;
  float least = 0, most = 0;
};

Range range(const Call& call) {
  const auto elem = static_cast<DataType>(call.int_of("out_dtype"));
  switch (elem) {
    case DataType::kUint8: return {elem, 0, 255};
    case DataType::kInt8: return {elem, -128, 127};
    case DataType::kUint16: return {elem, 0, 65535};
    case DataType::kInt16: return {elem, -32768, 32767};
    default:
      call.body().refuse("out_dtype is not an integer type of 8 or 16 bits");
      return {};
  }
}

class Quantizer {
 public:
  // `x` is what the op's row calls its input.
  Quantizer(const Call& call, std::string_view x)
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
  const Call& call_;
  Body& body_;
  Range range_;
  Wide wide_;
};

}  // namespace

// clip(round(x / scale + offset))
Body::Values quantize(const Call& call) {
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
Body::Values dynamic_quantize_symmetric(const Call& call) {
  const Quantizer q(call, "X");
  Body& body = call.body();
  if (body.refusal()) return {};
  const ValueId x = q.input("X");
  const ValueId top =
      q.reduced("ReduceMax", body.node("Abs", {x}, "magnitudes"));
  const ValueId scale = q.scale(top, q.limits().most);
  const ValueId y = body.node("Div", {x, q.from_float(scale)}, "steps");
  return {q.clipped(q.rounded(y), -q.limits().most), scale};
}

// clip(round(x / scale) + offset), scale = (high - low) / (most - least),
// offset = round(least - low / scale), where low and high enclose 0.
Body::Values dynamic_quantize_asymmetric(const Call& call) {
  const Quantizer q(call, "X");
  Body& body = call.body();
  if (body.refusal()) return {};
  const ValueId x = q.input("X"), zero = q.number(0, "zero");
  const ValueId low = body.node("Min", {q.reduced("ReduceMin", x), zero}, "low");
  const ValueId high =
      body.node("Max", {q.reduced("ReduceMax", x), zero}, "high");
  const float least = q.limits().least;
  const ValueId scale = q.scale(body.node("Sub", {high, low}, "width"),
                                q.limits().most - least);
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

namespace {

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
  const ValueId all = body.floats(powers, "powers");
  // One less where the guess is above x, one more where the next is not.
  const ValueId above =
      body.node("Greater", {body.node("Gather", {all, at}, "power"), x},
                "is_above");
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
  const ValueId over = body.node(
      "Greater",
      {body.node("Unsqueeze", {size, body.integers({-1}, "last")}, "each"),
       body.floats({0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f}, "midpoints")},
      "is_over");
  const ValueId count = body.node(
      "ReduceSum",
      {body.cast(over, DataType::kFloat, "counted"),
       body.integers({-1}, "last")},
      "magnitude_code", {Body::integer("keepdims", 0)});
  const ValueId zero = body.number(0, DataType::kFloat, "zero");
  const ValueId negative = body.cast(body.node("Less", {x, zero}, "is_negative"),
                                     DataType::kFloat, "sign");
  const ValueId sign = body.node(
      "Mul", {negative, body.number(8, DataType::kFloat, "eight")}, "sign_bit");
  return body.cast(body.node("Add", {count, sign}, "code"), DataType::kUint8,
                   "codes");
}

}  // namespace

// Groups of `group_size` numbers along the last axis, each with the scale
// 2^(floor(log2 max|x|) - 2), 1 where all are 0; the codes nearest to x / scale.
Body::Values dynamic_quantize_mxfp4(const Call& call) {
  Body& body = call.body();
  const std::int64_t group = call.int_of("group_size");
  const auto rank = call.rank("X");
  if (!rank || *rank == 0 || group <= 0 || group > kMostSize) {
    body.refuse("the groups are not known");
    return {};
  }
  ValueId x = call["X"];
  if (call.elem("X") != DataType::kFloat) {
    x = body.cast(x, DataType::kFloat, "wide");
  }
  const ValueId shape = body.node("Shape", {x}, "shape");
  const std::int64_t last = static_cast<std::int64_t>(*rank) - 1;
  const ValueId width =
      body.node("Slice",
                {shape, body.integers({last}, "from"),
                 body.integers({last + 1}, "to")},
                "width");
  const ValueId size = body.integers({group}, "group_size");
  const ValueId leading =
      body.node("Slice",
                {shape, body.integers({0}, "from"), body.integers({last}, "to")},
                "leading");
  const ValueId groups = body.node(
      "Reshape",
      {x, body.node("Concat",
                    {leading, body.node("Div", {width, size}, "count"), size},
                    "groups_shape", {Body::integer("axis", 0)})},
      "groups");
  const ValueId top =
      body.node("ReduceMax",
                {body.node("Abs", {groups}, "magnitudes"),
                 body.integers({-1}, "last")},
                "largest", {Body::integer("keepdims", 1)});
  const ValueId none = body.node(
      "Equal", {top, body.number(0, DataType::kFloat, "zero")}, "is_zero");
  const ValueId positive = body.node(
      "Where", {none, body.number(4, DataType::kFloat, "four"), top}, "positive");
  const ValueId scale = power_of_two(body, positive, -2);
  const ValueId codes = e2m1_codes(
      body, body.node("Div", {groups, scale}, "scaled"), groups);
  return {body.node("Reshape", {codes, shape}, "q"),
          body.node("Squeeze", {scale, body.integers({-1}, "last")}, "scale")};
}

}  // namespace ruleengine::rewrite::meanings
