#include "core/base/sample.h"

#include <doctest/doctest.h>

#include <numeric>

namespace ruleengine {
namespace {

std::vector<double> up_to(int n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 1.0);
  return out;
}

TEST_CASE("median and quartiles") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  const Spread half = quartiles(up_to(8));
  CHECK(half.low == 3);
  CHECK(half.median == 4.5);
  CHECK(half.high == 6);
}

// The k of tables of the sign test: P(fewer than k of n heads) <= alpha / 2.
TEST_CASE("confidence of a median") {
  CHECK(confidence(up_to(6)).low == 1);
  CHECK(confidence(up_to(6)).high == 6);
  CHECK(confidence(up_to(25)).low == 8);
  CHECK(confidence(up_to(25)).high == 18);
  // About 1.96 sqrt(n) / 2 on either side.
  CHECK(confidence(up_to(2000)).low == 956);
  CHECK(confidence(up_to(100'000)).low == 49'690);
  CHECK(confidence(up_to(8), 0.99).low == 1);
  CHECK(confidence(up_to(16), 0.99).low == 3);
  CHECK(confidence(up_to(32), 0.99).low == 9);
  CHECK(confidence({7}).low == 7);
}

}  // namespace
}  // namespace ruleengine
