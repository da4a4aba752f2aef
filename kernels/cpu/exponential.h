// e^x of floats, for loops in vectors (runtime/vectors.h): those of <cmath> go
// to the slow loop for scores that a mask hides. Internal to kernels/cpu.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ruleengine::kernels {

// value * 2^power.
struct Scaled {
  float value;
  std::int32_t power;
};
// e^x to about 1 ulp, for x from -104 to 89; NaN stays. The polynomial is that
// of Cephes (expf); x = n ln 2 + r, where ln 2 is in two parts so that n times
// the first is exact.
[[gnu::always_inline]] inline Scaled exponential_of(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: n is in its low bits
  const float shifted = x * 1.44269504F + kRound, n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  return {p, std::bit_cast<std::int32_t>(shifted) -
                 std::bit_cast<std::int32_t>(kRound)};
}
// For normal numbers.
[[gnu::always_inline]] inline float two_to(std::int32_t power) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(power + 127) << 23);
}

// e^x for x that is not above 0; 0 where that is below the least normal number.
[[gnu::always_inline]] inline float weight_of(float x) {
  constexpr float kLeast = -87.33654F;
  const Scaled s = exponential_of(x < kLeast ? kLeast : x);
  const float all = s.value * two_to(s.power);
  return x < kLeast ? 0.0F : all;
}
[[gnu::always_inline]] inline double weight_of(double x) { return std::exp(x); }

// e^x for every x.
[[gnu::always_inline]] inline float power_of_e(float x) {
  // Beyond these it is 0 and infinity.
  float y = x < -104.0F ? -104.0F : x;
  y = y > 89.0F ? 89.0F : y;
  const Scaled s = exponential_of(y);
  // In two steps, as 2^128 and 2^-150 are no normal numbers.
  const std::int32_t half = s.power >> 1;
  return s.value * two_to(half) * two_to(s.power - half);
}
[[gnu::always_inline]] inline double power_of_e(double x) {
  return std::exp(x);
}

}  // namespace ruleengine::kernels
