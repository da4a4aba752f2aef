#include "runtime/half.h"

#include <algorithm>
#include <bit>

#include "runtime/vectors.h"

#if RULEENGINE_VECTORS
#include <immintrin.h>
#endif

namespace ruleengine::runtime {
namespace {

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

}  // namespace ruleengine::runtime
