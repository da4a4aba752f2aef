#include "core/ir/shapes.h"

#include <doctest/doctest.h>

#include "core/analysis/types/slice_math.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;
using Shape = std::vector<Dim>;

struct Fixture {
  ir::DimTable t;
  Dim B = t.symbol("B"), S = t.symbol("S"), P = t.symbol("P");
};

TEST_CASE_FIXTURE(Fixture, "broadcasting") {
  CHECK(broadcast(t, Shape{B, Dim(1), S}, Shape{Dim(4), S}) ==
        Shape{B, Dim(4), S});
  CHECK(broadcast(t, Shape{}, Shape{B}) == Shape{B});
  CHECK(broadcast(t, Shape{B}, Shape{Dim(7)}) == Shape{Dim(7)});
  CHECK_FALSE(broadcast(t, Shape{B}, Shape{S}));
  CHECK_FALSE(broadcast(t, Shape{Dim(2)}, Shape{Dim(3)}));
  // The larger of two wins, where one is.
  CHECK(broadcast_dim(t, t.min(S, Dim(64)), S) == S);
  CHECK(broadcast_dim(t, S, t.add(S, P)) == t.add(S, P));
  CHECK(broadcast_dim(t, t.max(t.sub(S, Dim(1)), Dim(0)), t.sub(S, Dim(1))) ==
        t.sub(S, Dim(1)));
}

TEST_CASE_FIXTURE(Fixture, "shapes that fit into others") {
  CHECK(fits(Shape{Dim(1), S}, Shape{B, Dim(4), S}));
  CHECK(fits(Shape{}, Shape{B}));
  CHECK_FALSE(fits(Shape{B}, Shape{Dim(1)}));
  CHECK_FALSE(fits(Shape{Dim(1), B}, Shape{B}));
  CHECK_FALSE(fits(Shape{S}, Shape{B}));
}

TEST_CASE_FIXTURE(Fixture, "counts, axes, texts") {
  CHECK(element_count(t, Shape{B, Dim(2), S}) == t.mul(Dim(2), t.mul(B, S)));
  CHECK(known_count(Shape{Dim(2), Dim(3)}) == 6);
  CHECK_FALSE(known_count(Shape{Dim(2), B}));
  CHECK_FALSE(known_count(Shape{Dim(INT64_MAX), Dim(3)}));
  CHECK_FALSE(known_count(Shape{Dim(-1)}));
  CHECK(ir::place_of_axis(-1, 3) == 2u);
  CHECK_FALSE(ir::place_of_axis(3, 3));
  CHECK_FALSE(ir::place_of_axis(INT64_MIN, 3));
  ir::Type type;
  type.elem = ir::DataType::kFloat;
  CHECK(type_text(t, type) == "float[?]");
  type.has_shape = true;
  CHECK(type_text(t, type) == "float");
  const Shape dims{B, t.add(S, Dim(1))};
  type.dims = dims;
  CHECK(type_text(t, type) == "float[B,S + 1]");
}

TEST_CASE_FIXTURE(Fixture, "types are the same in every part") {
  const std::byte one[] = {std::byte{1}}, two[] = {std::byte{2}};
  const Shape dims{B, Dim(2)}, longer{B, Dim(2), S};
  ir::Type tensor{.elem = ir::DataType::kFloat, .has_shape = true};
  tensor.dims = dims;
  ir::Type other{.kind = ir::TypeKind::kOther};
  other.other = one;
  CHECK(same_type(tensor, tensor));
  CHECK(same_type(other, other));
  CHECK(type_text(t, other) == "other");

  ir::Type changed = other;
  changed.other = two;
  CHECK_FALSE(same_type(other, changed));
  changed.other = {};
  CHECK_FALSE(same_type(other, changed));
  // Kinds differ, and nothing else does.
  CHECK_FALSE(same_type(ir::Type(), changed));
  CHECK_FALSE(same_type(changed, ir::Type()));

  changed = tensor;
  changed.elem = ir::DataType::kDouble;
  CHECK_FALSE(same_type(tensor, changed));
  changed = tensor;
  changed.dims = longer;
  CHECK_FALSE(same_type(tensor, changed));
  // A scalar is no tensor of which the rank is unknown.
  const ir::Type unknown{.elem = ir::DataType::kFloat};
  CHECK_FALSE(
      same_type(unknown, {.elem = ir::DataType::kFloat, .has_shape = true}));
}

TEST_CASE("slices of known sizes, as numpy has them") {
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
  // ONNX Runtime turns all of the axis round, the standard takes nothing.
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
  CHECK(length(S, Dim(INT32_MAX), end) == "0");  // nothing from the end on
  CHECK(length(S, Dim(0), end, 2) == "(S + 1)//2");
  CHECK(length(S, Dim(-1), Dim(-(std::int64_t{1} << 61)), -1) == "S");
  CHECK(slice_length(t, S, t.sub(P, S), end, 1) == kUnknown);
  CHECK(slice_length(t, S, Dim(3), Dim(1), -1) == kUnknown);
  CHECK(slice_length(t, S, Dim(0), end, 0) == kUnknown);
  CHECK(slice_length(t, Dim(5), Dim(-1), end, -1) == kUnknown);
}

}  // namespace
}  // namespace ruleengine::analysis
