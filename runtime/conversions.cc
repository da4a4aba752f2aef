#include "runtime/conversions.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/ir/narrow_float.h"
#include "runtime/half.h"

namespace ruleengine::runtime {
namespace {

constexpr auto float_of_bfloat = [](std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
};
constexpr auto bfloat_of_float = [](float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // a quiet NaN
  }
  const std::uint32_t half = 0x7fffu + (bits >> 16 & 1u);
  return static_cast<std::uint16_t>((bits + half) >> 16);
};

// f(elements, results, their number).
template <typename From, typename To>
Tensor converted(const Tensor& t, DataType to, KernelRun& run,
                 void (*f)(const From*, To*, std::int64_t)) {
  Tensor out = allocate(run, to, t.dims());
  const From* in = t.data<From>();
  To* result = out.mutable_data<To>();
  constexpr std::int64_t kGrain = 1 << 15;
  run.threads->for_each(t.count(), kGrain,
                        [&](std::int64_t begin, std::int64_t end) {
                          f(in + begin, result + begin, end - begin);
                        });
  return out;
}

}  // namespace

Tensor widened(const Tensor& t, KernelRun& run) {
  if (!ir::is_narrow_float(t.dtype())) return t;
  if (t.dtype() == DataType::kFloat16) {
    return converted(t, DataType::kFloat, run, floats_of_halves);
  }
  if (t.dtype() == DataType::kBfloat16) {
    return mapped<std::uint16_t, float, true>(t, DataType::kFloat, run,
                                              float_of_bfloat);
  }
  const Tensor bytes = unpacked(t, run);
  float table[256];
  for (std::uint32_t i = 0; i < 256; ++i) {
    table[i] = static_cast<float>(ir::widen(t.dtype(), i));
  }
  return mapped<std::uint8_t, float>(
      bytes, DataType::kFloat, run,
      [&](std::uint8_t bits) { return table[bits]; });
}

namespace {

// From float or double.
template <typename From>
Tensor narrow(const Tensor& t, DataType to, KernelRun& run) {
  if (ir::bit_width(to) == 16) {
    return mapped<From, std::uint16_t>(t, to, run, [&](From v) {
      return static_cast<std::uint16_t>(ir::narrow(to, v));
    });
  }
  const Tensor bytes = mapped<From, std::uint8_t>(
      t, DataType::kUint8, run,
      [&](From v) { return static_cast<std::uint8_t>(ir::narrow(to, v)); });
  return is_packed(to) ? packed(bytes, to, run) : bytes.as(to);
}

}  // namespace

Tensor narrowed(const Tensor& t, DataType to, KernelRun& run) {
  if (!ir::is_narrow_float(to)) return t;
  if (t.dtype() == DataType::kDouble) return narrow<double>(t, to, run);
  if (to == DataType::kFloat16) {
    return converted(t, to, run, halves_of_floats);
  }
  if (to == DataType::kBfloat16) {
    return mapped<float, std::uint16_t, true>(t, to, run, bfloat_of_float);
  }
  return narrow<float>(t, to, run);
}

Tensor unpacked(const Tensor& t, KernelRun& run) {
  if (!is_packed(t.dtype())) return t;
  const int bits = ir::bit_width(t.dtype());
  const bool is_signed =
      t.dtype() == DataType::kInt4 || t.dtype() == DataType::kInt2;
  Tensor out =
      allocate(run, is_signed ? DataType::kInt8 : DataType::kUint8, t.dims());
  const auto* in = t.data<std::uint8_t>();
  auto* to = out.mutable_data<std::uint8_t>();
  const int per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1, sign = 1u << (bits - 1);
  for (std::int64_t i = 0; i < t.count(); ++i) {
    unsigned v = (in[i / per_byte] >> (i % per_byte * bits)) & mask;
    if (is_signed && (v & sign) != 0) v |= ~mask;
    to[i] = static_cast<std::uint8_t>(v);
  }
  return out;
}

Tensor packed(const Tensor& t, DataType to, KernelRun& run) {
  if (!is_packed(to)) return t;
  const int bits = ir::bit_width(to);
  Tensor out = allocate(run, to, t.dims());
  const auto* in = t.data<std::uint8_t>();
  auto* bytes = out.mutable_data<std::uint8_t>();
  std::memset(bytes, 0, out.byte_size());
  const int per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  for (std::int64_t i = 0; i < t.count(); ++i) {
    bytes[i / per_byte] = static_cast<std::uint8_t>(
        bytes[i / per_byte] | (in[i] & mask) << (i % per_byte * bits));
  }
  return out;
}

}  // namespace ruleengine::runtime
