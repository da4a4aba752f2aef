#include "runtime/conversions.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/ir/narrow_float.h"

namespace ruleengine::runtime {
namespace {

std::uint32_t bits(float v) { return std::bit_cast<std::uint32_t>(v); }

TEST_CASE("every half is the float that it says") {
  std::vector<std::uint16_t> halves(1 << 16);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<std::uint16_t>(i);
  }
  std::vector<float> floats(halves.size());
  // An odd number, so that the last are no block.
  const std::size_t count = halves.size() - 5;
  floats_of_halves(halves.data(), floats.data(),
                   static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const auto expected =
        static_cast<float>(ir::widen(ir::DataType::kFloat16, halves[i]));
    const bool same = std::isnan(expected) ? std::isnan(floats[i])
                                           : bits(floats[i]) == bits(expected);
    if (!same) FAIL(i);
  }
  for (std::size_t i = count; i < floats.size(); ++i) CHECK(floats[i] == 0);
}

TEST_CASE("floats are rounded to the nearest half, ties to even") {
  std::mt19937 random(1);
  std::vector<float> floats{0.0F,     -0.0F,     1.0F,  65504.0F, 65519.9F,
                            65520.0F, -1e30F,    1e-8F, 2.9e-8F,  3e-8F,
                            INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 100000; ++i) {
    floats.push_back(
        std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  // Halves, and what lies in the middle between two.
  for (std::uint32_t i = 0; i < 0x7c00; ++i) {
    const auto at = [](std::uint32_t half) {
      return static_cast<float>(ir::widen(ir::DataType::kFloat16, half));
    };
    floats.push_back(at(i));
    if (i + 1 < 0x7c00) floats.push_back((at(i) + at(i + 1)) / 2);
  }
  std::vector<std::uint16_t> halves(floats.size());
  halves_of_floats(floats.data(), halves.data(), std::ssize(floats));
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const auto expected = ir::narrow(ir::DataType::kFloat16, floats[i]);
    const bool is_nan = (halves[i] & 0x7fffu) > 0x7c00u;
    const bool same = std::isnan(floats[i]) ? is_nan : halves[i] == expected;
    if (!same) FAIL(floats[i]);
  }
}

}  // namespace
}  // namespace ruleengine::runtime
