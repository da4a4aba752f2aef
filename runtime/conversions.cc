#include "runtime/conversions.h"

#include <bit>

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

// Calls f.operator()<bits of an element>(begin, end) for elements that begin
// with a whole byte, on all threads.
template <typename F>
void for_bytes(int bits, std::int64_t count, KernelRun& run, const F& f) {
  constexpr std::int64_t kGrain = 1 << 15;
  run.threads->for_each(count, kGrain,
                        [&](std::int64_t begin, std::int64_t end) {
                          if (bits == 4) {
                            f.template operator()<4>(begin, end);
                          } else {
                            f.template operator()<2>(begin, end);
                          }
                        });
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
  // What a sign bit is moved to and back from, so that it extends.
  const int shift = is_signed ? 8 - bits : 0;
  for_bytes(
      bits, t.count(), run,
      [&]<int kBits>(std::int64_t begin, std::int64_t end) {
        constexpr int kPerByte = 8 / kBits;
        const auto* in = t.data<std::uint8_t>() + begin / kPerByte;
        auto* to = out.mutable_data<std::uint8_t>() + begin;
        const auto element = [&](unsigned byte, int k) RULEENGINE_INLINE {
          const unsigned v = byte >> (k * kBits) & ((1u << kBits) - 1);
          const auto high = static_cast<std::int8_t>(v << shift);
          return static_cast<std::uint8_t>(is_signed ? high >> shift : int(v));
        };
        for_vectors([&]() RULEENGINE_INLINE {
          const std::int64_t whole = (end - begin) / kPerByte;
#pragma GCC ivdep
          for (std::int64_t i = 0; i < whole; ++i) {
            for (int k = 0; k < kPerByte; ++k) {
              to[i * kPerByte + k] = element(in[i], k);
            }
          }
          for (std::int64_t i = whole * kPerByte; i < end - begin; ++i) {
            to[i] = element(in[whole], static_cast<int>(i % kPerByte));
          }
        });
      });
  return out;
}

Tensor packed(const Tensor& t, DataType to, KernelRun& run) {
  if (!is_packed(to)) return t;
  const int bits = ir::bit_width(to);
  Tensor out = allocate(run, to, t.dims());
  for_bytes(bits, t.count(), run,
            [&]<int kBits>(std::int64_t begin, std::int64_t end) {
              constexpr int kPerByte = 8 / kBits;
              const auto* in = t.data<std::uint8_t>() + begin;
              auto* bytes = out.mutable_data<std::uint8_t>() + begin / kPerByte;
              const auto joined = [&](std::int64_t first,
                                      int count) RULEENGINE_INLINE {
                unsigned byte = 0;
                for (int k = 0; k < count; ++k) {
                  byte |= (in[first + k] & ((1u << kBits) - 1)) << (k * kBits);
                }
                return static_cast<std::uint8_t>(byte);
              };
              for_vectors([&]() RULEENGINE_INLINE {
                const std::int64_t whole = (end - begin) / kPerByte;
#pragma GCC ivdep
                for (std::int64_t i = 0; i < whole; ++i) {
                  bytes[i] = joined(i * kPerByte, kPerByte);
                }
                const auto rest = static_cast<int>((end - begin) % kPerByte);
                if (rest > 0) bytes[whole] = joined(whole * kPerByte, rest);
              });
            });
  return out;
}

}  // namespace ruleengine::runtime
