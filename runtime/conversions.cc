#include "runtime/conversions.h"

#include <algorithm>
#include <bit>

#include "core/ir/narrow_float.h"

#if RULEENGINE_VECTORS
#include <immintrin.h>
#endif

namespace ruleengine::runtime {
namespace {

// Numbers of float16, by the instructions for them where the machine has some:
// the compiler vectorizes no loop over _Float16.
constexpr std::int64_t kBlock = 16;
using Half = std::uint16_t;

void widen_block(const Half* in, float* out) {
  for (std::int64_t i = 0; i < kBlock; ++i) {
    out[i] = static_cast<float>(std::bit_cast<_Float16>(in[i]));
  }
}

void narrow_block(const float* in, Half* out) {
  for (std::int64_t i = 0; i < kBlock; ++i) {
    out[i] = std::bit_cast<Half>(static_cast<_Float16>(in[i]));
  }
}

#if RULEENGINE_VECTORS

// GCC 12 warns of the functions without a mask.
constexpr __mmask16 kAll = 0xffff;
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

[[gnu::target("avx512f")]] void widen_512(const Half* in, float* out) {
  const auto* from = reinterpret_cast<const __m256i*>(in);
  _mm512_storeu_ps(out, _mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(from)));
}

[[gnu::target("avx512f")]] void narrow_512(const float* in, Half* out) {
  auto* to = reinterpret_cast<__m256i*>(out);
  _mm256_storeu_si256(
      to, _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(in), kNearest));
}

[[gnu::target("avx,f16c")]] void widen_256(const Half* in, float* out) {
  const auto* from = reinterpret_cast<const __m128i*>(in);
  for (int i = 0; i < 2; ++i) {
    _mm256_storeu_ps(out + 8 * i, _mm256_cvtph_ps(_mm_loadu_si128(from + i)));
  }
}

[[gnu::target("avx,f16c")]] void narrow_256(const float* in, Half* out) {
  auto* to = reinterpret_cast<__m128i*>(out);
  for (int i = 0; i < 2; ++i) {
    const __m256 x = _mm256_loadu_ps(in + 8 * i);
    _mm_storeu_si128(to + i, _mm256_cvtps_ph(x, kNearest));
  }
}

#endif

// `block` for all elements; the last through blocks of their own.
template <typename From, typename To>
[[gnu::always_inline]] inline void for_blocks(const From* in, To* out,
                                              std::int64_t n,
                                              void (*block)(const From*, To*)) {
  std::int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) block(in + i, out + i);
  if (i == n) return;
  From from[kBlock] = {};
  To to[kBlock];
  std::copy(in + i, in + n, from);
  block(from, to);
  std::copy_n(to, n - i, out + i);
}

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

void floats_of_halves(const Half* in, float* out, std::int64_t n) {
#if RULEENGINE_VECTORS
  if (vector_bits() >= 512) return for_blocks(in, out, n, widen_512);
  if (vector_bits() >= 256) return for_blocks(in, out, n, widen_256);
#endif
  for_blocks(in, out, n, widen_block);
}

void halves_of_floats(const float* in, Half* out, std::int64_t n) {
#if RULEENGINE_VECTORS
  if (vector_bits() >= 512) return for_blocks(in, out, n, narrow_512);
  if (vector_bits() >= 256) return for_blocks(in, out, n, narrow_256);
#endif
  for_blocks(in, out, n, narrow_block);
}

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
