// Quantizing: numbers as few bits with a scale and a zero point, and back.
#include "kernels/cpu/quantization/quantization.h"

#include <algorithm>
#include <vector>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/quantization/granularity.h"
#include "kernels/cpu/reductions/fold.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

using Bytes = Types<std::int8_t, std::uint8_t>;
using QuantizedTypes =
    Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>;

// The type that a quantized one is computed in, and its range.
struct IntegerRange {
  DataType stored;
  float low, high;
};

IntegerRange integer_range(DataType type) {
  switch (type) {
    case DataType::kUint8:
      return {type, 0, 255};
    case DataType::kInt8:
      return {type, -128, 127};
    case DataType::kUint16:
      return {type, 0, 65535};
    case DataType::kInt16:
      return {type, -32768, 32767};
    case DataType::kUint4:
      return {DataType::kUint8, 0, 15};
    case DataType::kInt4:
      return {DataType::kInt8, -8, 7};
    case DataType::kUint2:
      return {DataType::kUint8, 0, 3};
    case DataType::kInt2:
      return {DataType::kInt8, -2, 1};
    default:
      fail("wrong type of the result", "an integer type of 2 to 16 bits",
           std::string(ir::data_type_name(type)));
  }
}

// The zero points as float, as many as there are scales.
Tensor zero_points(const Call& c, const Tensor& scale) {
  const Tensor zero = float_input(c, 2);
  if (zero.count() == scale.count()) return zero;
  if (zero.count() != 1) c.expect_count(2, scale.count());
  Tensor out = c.allocate(DataType::kFloat, scale.dims());
  std::fill_n(out.mutable_data<float>(), out.count(), *zero.data<float>());
  return out;
}

struct QuantizeOp {
  explicit QuantizeOp(const Preparation& p)
      : axis(p),
        precision_said(p.attribute_type("precision")),
        type_said(p.attribute_type("output_dtype")),
        saturate(p.attribute_flag("saturate")) {}
  void operator()(Call& c) const;

  // What the quotient is rounded to.
  DataType precision(const Tensor& x, const Tensor& scale) const {
    if (precision_said != DataType::kUndefined) return precision_said;
    return x.dtype() == scale.dtype() ? x.dtype() : DataType::kFloat;
  }
  DataType type(const Call& c) const {
    const bool is_said = type_said != DataType::kUndefined;
    if (!c.has_input(2)) return is_said ? type_said : DataType::kUint8;
    if (is_said) c.expect_type(2, type_said);
    return c.input(2).dtype();
  }

  ScaleAxis axis;
  DataType precision_said, type_said;
  bool saturate;
};

struct Quantization {
  Tensor x, scale, zero;  // x and scale as float or double, zero as float
  Granularity parts;
};

// f(quotient, zero point) of every element.
template <typename T, typename To, typename F>
void quantize_each(Call& c, const Quantization& q, Tensor& y, F f) {
  const T *x = q.x.data<T>(), *scale = q.scale.data<T>();
  const float* zero = q.zero.data<float>();
  To* out = y.mutable_data<To>();
  q.parts.for_each(c, [&](const Granularity::Part& p) {
    const T* in = x + p.at;
    To* to = out + p.at;
    const T* by = scale + p.scale;
    const float* from = zero + p.scale;
    runtime::for_vectors([=]() RULEENGINE_INLINE {
      if (p.step == 0) {
        const T one = *by;
        const float start = *from;
        runtime::map_line(in, to, p.size,
                          [=](T v) { return f(v / one, start); });
      } else {
        for (std::int64_t i = 0; i < p.size; ++i) {
          to[i] = f(in[i] / by[i], from[i]);
        }
      }
    });
  });
}

// Rounded to a narrower type, as float again.
Tensor rounded(const Call& c, const Tensor& t, DataType precision) {
  if (!ir::is_narrow_float(precision) || t.count() == 0) return t;
  const Tensor single = cast_tensor(c, t, DataType::kFloat, {});
  return runtime::widened(runtime::narrowed(single, precision, c.run()),
                          c.run());
}

// A quotient of narrow precision, to be divided by 1.
void divide_first(Call& c, Quantization& q, DataType precision) {
  q.x = rounded(c, q.x, precision);
  q.scale = rounded(c, q.scale, precision);
  Tensor quotients = c.allocate(DataType::kFloat, q.x.dims());
  quantize_each<float, float>(c, q, quotients,
                              [](float v, float) { return v; });
  q.x = rounded(c, quotients, precision);
  q.scale = c.allocate(DataType::kFloat, q.scale.dims());
  std::fill_n(q.scale.mutable_data<float>(), q.scale.count(), 1.0F);
}

// `saturate`: of float8.
template <typename T>
void quantize(Call& c, const Quantization& q, DataType to, bool saturate) {
  const Shape dims = q.x.dims();
  if (!ir::is_integer(to)) {
    if (!ir::is_narrow_float(to) || ir::bit_width(to) > 8) {
      fail("wrong type of the result", "an integer type or one of float8",
           std::string(ir::data_type_name(to)));
    }
    Tensor y = c.allocate(DataType::kFloat, dims);
    quantize_each<T, float>(
        c, q, y, [](T v, float zero) { return static_cast<float>(v) + zero; });
    return c.set_output(0, cast_tensor(c, y, to, {.saturate = saturate}));
  }
  const IntegerRange range = integer_range(to);
  const bool packs = runtime::is_packed(to);
  Tensor y = packs ? c.allocate(range.stored, dims) : c.output(0, to, dims);
  dispatch(QuantizedTypes(), range.stored, [&]<typename To>() {
    const T low = range.low, high = range.high;
    quantize_each<T, To>(c, q, y, [=](T v, float zero) {
      return static_cast<To>(saturated<T>(v, zero, low, high));
    });
  });
  if (packs) c.set_output(0, runtime::packed(y, to, c.run()));
}

void QuantizeOp::operator()(Call& c) const {
  const Tensor& x = c.input(0);
  const Tensor& scale = c.input(1);
  const DataType to = type(c), rounds_to = precision(x, scale);
  // Numbers of 32 bits need more than a float.
  const bool is_wide =
      ir::is_integer(x.dtype()) || x.dtype() == DataType::kDouble;
  const DataType wide = is_wide && !ir::is_narrow_float(rounds_to)
                            ? DataType::kDouble
                            : DataType::kFloat;
  Quantization q{cast_tensor(c, x, wide, {}), cast_tensor(c, scale, wide, {}),
                 zero_points(c, scale), Granularity(c, x, scale, axis)};
  if (ir::is_narrow_float(rounds_to)) divide_first(c, q, rounds_to);
  if (q.x.dtype() == DataType::kDouble) {
    return quantize<double>(c, q, to, saturate);
  }
  quantize<float>(c, q, to, saturate);
}

template <typename T>
void dequantize(Call& c, const Quantization& q, Tensor& y) {
  const T* x = q.x.data<T>();
  const float *scale = q.scale.data<float>(), *zero = q.zero.data<float>();
  float* out = y.mutable_data<float>();
  q.parts.for_each(c, [&](const Granularity::Part& p) {
    const T* in = x + p.at;
    const float *by = scale + p.scale, *from = zero + p.scale;
    float* to = out + p.at;
    if (p.step == 0) {
      const float one = *by, start = *from;
      for (std::int64_t i = 0; i < p.size; ++i) {
        to[i] = (static_cast<float>(in[i]) - start) * one;
      }
    } else {
      for (std::int64_t i = 0; i < p.size; ++i) {
        to[i] = (static_cast<float>(in[i]) - from[i]) * by[i];
      }
    }
  });
}

void dequantize_linear(Call& c, const ScaleAxis& axis, DataType type_said) {
  Tensor x = c.input(0);
  const Tensor& scale = c.input(1);
  if (c.has_input(2)) c.expect_type(2, x.dtype());
  const DataType to =
      type_said == DataType::kUndefined ? scale.dtype() : type_said;
  if (!ir::is_float(to) || to == DataType::kFloat8E8M0) {
    fail("wrong type of the result", "a float type",
         std::string(ir::data_type_name(to)));
  }
  const Granularity parts(c, x, scale, axis);
  x = as_computed(c, x);
  const Quantization q{x, float_input(c, 1), zero_points(c, scale), parts};
  Tensor y = to == DataType::kFloat ? c.output(0, to, x.dims())
                                    : c.allocate(DataType::kFloat, x.dims());
  using List = Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                     std::int32_t, float>;
  dispatch(List(), x.dtype(), [&]<typename T>() { dequantize<T>(c, q, y); });
  if (to != DataType::kFloat) c.set_output(0, cast_tensor(c, y, to, {}));
}

struct Range {
  float least = 0, most = 0;
};
// Of the numbers and 0; NaN is passed over.
Range range_with_zero(const Call& c, const Tensor& x) {
  std::vector<Range> parts(index_of(ceil_div(x.count(), kGrain)));
  c.threads().for_each(
      x.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        const float* from = x.data<float>() + begin;
        Range& part = parts[index_of(begin / kGrain)];
        const auto extreme = [&](auto take) RULEENGINE_INLINE {
          return fold_lanes<64>(
              end - begin, 0.0F,
              [&](float& a, std::int64_t i) { take(a, from[i]); }, take);
        };
        runtime::for_vectors([&]() RULEENGINE_INLINE {
          part.least = extreme([](float& a, float v) { a = v < a ? v : a; });
          part.most = extreme([](float& a, float v) { a = v > a ? v : a; });
        });
      });
  Range all;
  for (const Range& part : parts) {
    all = {std::min(all.least, part.least), std::max(all.most, part.most)};
  }
  return all;
}

void dynamic_quantize_linear(Call& c) {
  const Tensor x = c.expect_type(0, DataType::kFloat);
  const auto [least, most] = range_with_zero(c, x);
  const float range = most == least ? 1.0F : most - least;
  const float scale = range / 255.0F;
  const auto zero =
      static_cast<float>(saturated<float>(0.0F - least / scale, 0, 0, 255));
  const Tensor by = scalar(c, scale);
  c.set_output(1, by);
  c.set_output(2, scalar(c, static_cast<std::uint8_t>(zero)));
  const Quantization q{x, by, scalar(c, zero), Granularity(x)};
  quantize<float>(c, q, DataType::kUint8, true);
}

}  // namespace

const KernelRows kQuantizationRows = {
    {"", "ConvInteger", conv_integer},
    {"", "DequantizeLinear",
     keeping<dequantize_linear, kept<ScaleAxis>,
             type_attribute<"output_dtype">>},
    {"", "DynamicQuantizeLinear", dynamic_quantize_linear},
    {"", "MatMulInteger", mat_mul_integer},
    {"", "QLinearConv", qlinear_conv},
    {"", "QLinearMatMul", qlinear_mat_mul},
    {"", "QuantizeLinear", prepared<QuantizeOp>},
};

Tensor float_input(const Call& c, std::size_t i) {
  if (!c.has_input(i)) return scalar(c, 0);
  return cast_tensor(c, c.input(i), DataType::kFloat, {});
}

Tensor spread(const Tensor& t, std::size_t behind) {
  if (t.count() == 1) return t.reshaped({});
  if (t.rank() != 1) return t;
  Dims dims(behind + 1, 1);
  dims[0] = t.count();
  return t.reshaped(dims);
}

Tensor shifted_input(Call& c, std::size_t i, std::size_t zero,
                     std::size_t behind) {
  const Tensor& x = c.input(i);
  if (c.has_input(zero)) c.expect_type(zero, x.dtype());
  const Tensor start = spread(float_input(c, zero), behind);
  check_spread(start, x.dims());
  Tensor out = c.allocate(DataType::kFloat, x.dims());
  const bool is_float8 =
      ir::is_float(x.dtype()) && ir::bit_width(x.dtype()) == 8;
  const Tensor from = is_float8 ? cast_tensor(c, x, DataType::kFloat, {}) : x;
  using List = Types<std::int8_t, std::uint8_t, float>;
  if (x.dtype() == DataType::kFloat) c.wrong_type(i, "a type of 8 bits");
  dispatch(List(), from.dtype(), [&]<typename T>() {
    map_binary<T, float, float>(c, from, start, out, [](T v, float by) {
      return static_cast<float>(v) - by;
    });
  });
  return out;
}

Tensor integer_zeros(Call& c, std::size_t i, std::size_t zero,
                     std::size_t behind, Shape each) {
  const DataType type = c.input(i).dtype();
  if (type != DataType::kInt8 && type != DataType::kUint8) {
    c.wrong_type(i, "an integer type of 8 bits");
  }
  if (c.has_input(zero)) c.expect_type(zero, type);
  const Tensor start = spread(float_input(c, zero), behind);
  check_spread(start, each);
  Tensor out =
      c.allocate(DataType::kInt32, start.count() == 1 ? Shape{} : each);
  map_binary<float, float, std::int32_t>(
      c, start, start, out,
      [](float v, float) { return static_cast<std::int32_t>(v); });
  return out;
}

void check_spread(const Tensor& t, Shape result) {
  if (!std::ranges::equal(broadcast(t.dims(), result), result)) {
    fail("wrong shape of scales or zero points",
         "one that broadcasts to " + runtime::shape_text(result), t.text());
  }
}

Tensor scale_factor(Call& c, const Tensor& a, const Tensor& b,
                    const Tensor& y) {
  const Dims both = broadcast(a.dims(), b.dims());
  Tensor scales = c.allocate(DataType::kFloat, both);
  map_binary<float, float, float>(c, a, b, scales,
                                  [](float v, float by) { return v * by; });
  const Dims all = broadcast(scales.dims(), y.dims());
  Tensor out = c.allocate(DataType::kFloat, all);
  map_binary<float, float, float>(c, scales, y, out,
                                  [](float v, float by) { return v / by; });
  return out;
}

void requantize(Call& c, const Tensor& sums, const Tensor& factor,
                const Tensor& zero, DataType to) {
  const IntegerRange range = integer_range(to);
  const Shape dims = sums.dims();
  check_spread(factor, dims);
  check_spread(zero, dims);
  Tensor& y = c.output(0, to, dims);
  if (y.count() == 0) return;
  const Rows<2> rows(dims, {broadcast_strides(factor.dims(), dims),
                            broadcast_strides(zero.dims(), dims)});
  const float *by = factor.data<float>(), *start = zero.data<float>();
  const std::int64_t n = rows.length();
  using Sums = Types<std::int32_t, float>;
  dispatch(Sums(), sums.dtype(), [&]<typename From>() {
    const From* in = sums.data<From>();
    dispatch(Bytes(), to, [&]<typename To>() {
      To* out = y.mutable_data<To>();
      const auto row = [&](std::int64_t at, const auto& from) {
        runtime::for_vectors([&]() RULEENGINE_INLINE {
          // Held in registers: bytes that are written may be anything.
          const From* sums_of_row = in + at;
          const float *scale = by + from[0], *zeros = start + from[1];
          const std::int64_t by_step = rows.inner(0), step = rows.inner(1);
          const std::int64_t count = n;
          const double low = range.low, high = range.high;
          To* row_out = out + at;
          const auto each = [=](From sum, double scaled,
                                double moved) RULEENGINE_INLINE {
            return static_cast<To>(static_cast<std::int32_t>(saturated<double>(
                static_cast<double>(sum) * scaled + moved, 0, low, high)));
          };
          if (by_step == 0 && step == 0) {
            const double scaled = *scale, moved = *zeros;
#pragma GCC ivdep
            for (std::int64_t i = 0; i < count; ++i) {
              row_out[i] = each(sums_of_row[i], scaled, moved);
            }
          } else {
#pragma GCC ivdep
            for (std::int64_t i = 0; i < count; ++i) {
              row_out[i] =
                  each(sums_of_row[i], scale[i * by_step], zeros[i * step]);
            }
          }
        });
      };
      c.threads().for_each(rows.count(), kGrain / n,
                           [&](std::int64_t begin, std::int64_t end) {
                             rows.for_each(begin, end, row);
                           });
    });
  });
}

}  // namespace ruleengine::kernels
