// Random numbers that are the same on every machine: SplitMix64 (G. Steele,
// D. Lea, C. Flood).
#pragma once

#include <cstdint>
#include <limits>

namespace ruleengine {

class RandomBits {
 public:
  using result_type = std::uint64_t;

  explicit RandomBits(std::uint64_t seed = 0) : state_(seed) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() {
    return std::numeric_limits<result_type>::max();
  }
  result_type operator()() { return mixed(state_ += kStep); }

  // From 0 up to 1.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

  // Of mean 0 and deviation 1, at most 3.5 from it: the sum of four numbers
  // that are uniform.
  double normal() {
    const std::uint64_t bits = (*this)();
    const std::uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) +
                              (bits >> 32 & 0xffff) + (bits >> 48);
    constexpr double kMean = 2 * 0xffff, kDeviation = 0x1p16 * 0.57735026919;
    return (static_cast<double>(sum) - kMean) / kDeviation;
  }

  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;

  static constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace ruleengine
