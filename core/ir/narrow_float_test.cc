#include "core/ir/narrow_float.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace ruleengine::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("bits of known numbers") {
  CHECK(widen(DataType::kFloat16, 0x3c00) == 1.0);
  CHECK(widen(DataType::kFloat16, 0xc000) == -2.0);
  CHECK(widen(DataType::kFloat16, 0x7bff) == 65504.0);
  CHECK(widen(DataType::kFloat16, 0x0001) == 0x1p-24);
  CHECK(widen(DataType::kFloat16, 0xfc00) == -kInfinity);
  CHECK(std::isnan(widen(DataType::kFloat16, 0x7e00)));
  CHECK(widen(DataType::kBfloat16, 0x3f80) == 1.0);
  CHECK(widen(DataType::kFloat8E4M3FN, 0x7e) == 448.0);
  CHECK(std::isnan(widen(DataType::kFloat8E4M3FN, 0x7f)));
  CHECK(widen(DataType::kFloat8E4M3FNUZ, 0x7f) == 240.0);
  CHECK(std::isnan(widen(DataType::kFloat8E4M3FNUZ, 0x80)));
  CHECK(widen(DataType::kFloat8E5M2, 0x7b) == 57344.0);
  CHECK(widen(DataType::kFloat8E5M2, 0x7c) == kInfinity);
  CHECK(widen(DataType::kFloat8E5M2FNUZ, 0x7f) == 57344.0);
  CHECK(widen(DataType::kFloat4E2M1, 0x7) == 6.0);
  CHECK(widen(DataType::kFloat4E2M1, 0x9) == -0.5);
  CHECK(widen(DataType::kFloat8E8M0, 127) == 1.0);
  CHECK(std::isnan(widen(DataType::kFloat8E8M0, 255)));
}

TEST_CASE("rounding is half to even, and saturates in types without infinity") {
  CHECK(narrow(DataType::kFloat16, 1.0 + 0x1p-11) == 0x3c00);
  CHECK(narrow(DataType::kFloat16, 1.0 + 3 * 0x1p-11) == 0x3c02);
  CHECK(narrow(DataType::kFloat16, 65520.0) == 0x7c00);
  CHECK(narrow(DataType::kFloat16, -kInfinity) == 0xfc00);
  CHECK(narrow(DataType::kFloat16, 1e300) == 0x7c00);
  CHECK(narrow(DataType::kFloat16, 0x1p-25) == 0);
  CHECK(narrow(DataType::kFloat16, 0x1.8p-25) == 1);
  CHECK(narrow(DataType::kFloat16, -0.0) == 0x8000);
  CHECK(narrow(DataType::kFloat8E4M3FN, 1e9) == 0x7e);
  CHECK(narrow(DataType::kFloat8E4M3FNUZ, -0.0) == 0);
  CHECK(narrow(DataType::kFloat4E2M1, 100.0) == 0x7);
  CHECK(narrow(DataType::kFloat8E8M0, 3.0) == 129);
  CHECK(narrow(DataType::kFloat8E8M0, 2.9) == 128);
}

TEST_CASE("every bit pattern round-trips") {
  for (DataType type : {DataType::kFloat16, DataType::kBfloat16,
                        DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ,
                        DataType::kFloat8E5M2, DataType::kFloat8E5M2FNUZ,
                        DataType::kFloat4E2M1, DataType::kFloat8E8M0}) {
    CHECK(is_narrow_float(type));
    for (std::uint32_t bits = 0; bits < 1u << bit_width(type); ++bits) {
      const double value = widen(type, bits);
      if (std::isnan(value)) {
        CHECK(std::isnan(widen(type, narrow(type, value))));
      } else if (type != DataType::kFloat8E8M0 || bits != 0) {
        REQUIRE(narrow(type, value) == bits);
      }
    }
  }
  CHECK_FALSE(is_narrow_float(DataType::kFloat));
  CHECK_FALSE(is_narrow_float(DataType::kInt8));
}

}  // namespace
}  // namespace ruleengine::ir
