#include "core/ir/shapes.h"

#include <doctest/doctest.h>

namespace ruleengine::ir {
namespace {

using Shape = std::vector<Dim>;

struct ShapesFixture {
  DimTable t;
  Dim B = t.symbol("B"), S = t.symbol("S"), P = t.symbol("P");
};

TEST_CASE_FIXTURE(ShapesFixture, "broadcasting") {
  CHECK(broadcast(t, Shape{B, Dim(1), S}, Shape{Dim(4), S}) ==
        Shape{B, Dim(4), S});
  CHECK(broadcast(t, Shape{}, Shape{B}) == Shape{B});
  CHECK(broadcast(t, Shape{B}, Shape{Dim(7)}) == Shape{Dim(7)});
  CHECK_FALSE(broadcast(t, Shape{B}, Shape{S}));
  CHECK_FALSE(broadcast(t, Shape{Dim(2)}, Shape{Dim(3)}));
  // If one of two is provably larger, it is the result.
  CHECK(broadcast_dim(t, t.min(S, Dim(64)), S) == S);
  CHECK(broadcast_dim(t, S, t.add(S, P)) == t.add(S, P));
  CHECK(broadcast_dim(t, t.max(t.sub(S, Dim(1)), Dim(0)), t.sub(S, Dim(1))) ==
        t.sub(S, Dim(1)));
}

TEST_CASE_FIXTURE(ShapesFixture, "shapes that fit into others") {
  CHECK(fits(Shape{Dim(1), S}, Shape{B, Dim(4), S}));
  CHECK(fits(Shape{}, Shape{B}));
  CHECK_FALSE(fits(Shape{B}, Shape{Dim(1)}));
  CHECK_FALSE(fits(Shape{Dim(1), B}, Shape{B}));
  CHECK_FALSE(fits(Shape{S}, Shape{B}));
}

TEST_CASE_FIXTURE(ShapesFixture, "counts, axes, texts") {
  CHECK(element_count(t, Shape{B, Dim(2), S}) == t.mul(Dim(2), t.mul(B, S)));
  CHECK(known_count(Shape{Dim(2), Dim(3)}) == 6);
  CHECK_FALSE(known_count(Shape{Dim(2), B}));
  CHECK_FALSE(known_count(Shape{Dim(INT64_MAX), Dim(3)}));
  CHECK_FALSE(known_count(Shape{Dim(-1)}));
  CHECK(ir::place_of_axis(-1, 3) == 2u);
  CHECK_FALSE(ir::place_of_axis(3, 3));
  CHECK_FALSE(ir::place_of_axis(INT64_MIN, 3));
  Type type;
  type.elem = DataType::kFloat;
  CHECK(type_text(t, type) == "float[?]");
  type.has_shape = true;
  CHECK(type_text(t, type) == "float");
  const Shape dims{B, t.add(S, Dim(1))};
  type.dims = dims;
  CHECK(type_text(t, type) == "float[B,S + 1]");
}

TEST_CASE_FIXTURE(ShapesFixture, "types are the same in every part") {
  const std::byte one[] = {std::byte{1}}, two[] = {std::byte{2}};
  const Shape dims{B, Dim(2)}, longer{B, Dim(2), S};
  Type tensor{.elem = DataType::kFloat, .has_shape = true};
  tensor.dims = dims;
  Type other{.kind = TypeKind::kOther};
  other.other = one;
  CHECK(same_type(tensor, tensor));
  CHECK(same_type(other, other));
  CHECK(type_text(t, other) == "other");

  Type changed = other;
  changed.other = two;
  CHECK_FALSE(same_type(other, changed));
  changed.other = {};
  CHECK_FALSE(same_type(other, changed));
  // Only the kinds differ.
  CHECK_FALSE(same_type(Type(), changed));
  CHECK_FALSE(same_type(changed, Type()));

  changed = tensor;
  changed.elem = DataType::kDouble;
  CHECK_FALSE(same_type(tensor, changed));
  changed = tensor;
  changed.dims = longer;
  CHECK_FALSE(same_type(tensor, changed));
  // A scalar is not a tensor of unknown rank.
  const Type unknown{.elem = DataType::kFloat};
  CHECK_FALSE(
      same_type(unknown, {.elem = DataType::kFloat, .has_shape = true}));
}

}  // namespace
}  // namespace ruleengine::ir
