#include "core/ops/slice_math.h"

#include <doctest/doctest.h>

namespace ruleengine::ops {
namespace {

using ir::Dim;

struct Fixture {
  ir::DimTable t;
  Dim S = t.symbol("S"), P = t.symbol("P");
};

TEST_CASE("slices of known sizes, as in numpy") {
  // size, start, end, step -> first, count
  const std::int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  const std::int64_t rows[][6] = {
      {5, 0, kMax, 1, 0, 5},    {5, -2, kMax, 1, 3, 2},
      {5, 1, -1, 1, 1, 3},      {5, 3, 2, 1, 3, 0},
      {5, 0, 5, 2, 0, 3},       {5, -1, kMin, -1, 4, 5},
      {5, 4, 0, -2, 4, 2},      {5, kMax, kMin, -1, 4, 5},
      {0, 0, 5, 1, 0, 0},       {5, -9, 9, 1, 0, 5},
      {5, 0, kMax, kMax, 0, 1}, {5, -1, kMin, kMin, 4, 1},
      {5, 2, 2, -1, 2, 0},      {5, kMin, kMax, 1, 0, 5},
      {0, -1, kMin, -1, 0, 0},
  };
  for (const auto& r : rows) {
    CAPTURE(r[0]);
    CAPTURE(r[1]);
    CAPTURE(r[2]);
    CAPTURE(r[3]);
    const auto range = slice_range(r[0], r[1], r[2], r[3]);
    REQUIRE(range);
    CHECK(range->count == r[5]);
    if (r[5] > 0) CHECK(range->start == r[4]);
  }
  // ONNX Runtime reverses the axis; in the standard the slice is empty.
  for (const std::int64_t to_end : {kMax, std::int64_t{INT32_MAX}}) {
    CHECK_FALSE(slice_range(5, -1, to_end, -1));
    CHECK(slice_range(5, -1, to_end - 1, -1)->count == 0);
  }
  CHECK_FALSE(slice_range(5, 0, 5, 0));
}

TEST_CASE_FIXTURE(Fixture, "slices of symbolic sizes") {
  const auto length = [&](Dim size, Dim start, Dim end, std::int64_t step = 1) {
    return t.text(slice_length(t, size, start, end, step));
  };
  const Dim end(INT64_MAX), T = t.add(P, S);
  CHECK(length(S, Dim(0), end) == "S");
  CHECK(length(S, Dim(1), end) == "max(0, S - 1)");
  CHECK(length(S, Dim(0), Dim(-1)) == "max(0, S - 1)");
  CHECK(length(S, Dim(0), Dim(10)) == "min(10, S)");
  CHECK(length(T, P, T) == "S");
  CHECK(slice_length(t, T, t.neg(S), end, 1) == kUnknown);  // all, at 0
  CHECK(length(t.mul(Dim(2), S), t.neg(S), end) == "S");
  CHECK(length(S, Dim(0), t.neg(S)) == "0");
  CHECK(length(T, t.sub(Dim(-1), S), end) == "max(0, P + S - max(0, P - 1))");
  CHECK(length(Dim(64), P, T) == "min(S, max(-P + 64, 0))");
  CHECK(length(Dim(64), Dim(0), S) == "min(64, S)");
  CHECK(length(t.mul(Dim(2), S), Dim(0), S) == "S");
  CHECK(length(t.mul(Dim(2), S), S, end) == "S");
  CHECK(length(S, Dim(INT32_MAX), end) == "0");  // empty from the end on
  CHECK(length(S, Dim(0), end, 2) == "(S + 1)//2");
  CHECK(length(S, Dim(-1), Dim(-(std::int64_t{1} << 61)), -1) == "S");
  CHECK(slice_length(t, S, t.sub(P, S), end, 1) == kUnknown);
  CHECK(slice_length(t, S, Dim(3), Dim(1), -1) == kUnknown);
  CHECK(slice_length(t, S, Dim(0), end, 0) == kUnknown);
  CHECK(slice_length(t, Dim(5), Dim(-1), end, -1) == kUnknown);
}

}  // namespace
}  // namespace ruleengine::ops
