#include "core/ir/attribute.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>

namespace ruleengine::ir {
namespace {

bool same(const Attribute& a, const Attribute& b) {
  return same_value(a, b, nullptr) && same_value(b, a, nullptr);
}

TEST_CASE("equality compares kind and value, not the name") {
  Attribute a{.name = "axis", .kind = AttributeKind::kInt, .i = 1};
  Attribute b{.name = "dim", .kind = AttributeKind::kInt, .i = 1};
  CHECK(same(a, b));
  b.i = 2;
  CHECK_FALSE(same(a, b));
  b = {.name = "axis", .kind = AttributeKind::kFloat, .f = 1};
  CHECK_FALSE(same(a, b));
}

TEST_CASE("floats are compared by bits") {
  const auto f = [](float v) {
    return Attribute{.kind = AttributeKind::kFloat, .f = v};
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  CHECK(same(f(kNan), f(kNan)));
  CHECK_FALSE(same(f(0.0f), f(-0.0f)));
  const std::array<float, 2> x = {1, kNan}, y = {1, kNan}, z = {1, 2};
  Attribute a{.kind = AttributeKind::kFloats, .floats = x};
  Attribute b{.kind = AttributeKind::kFloats, .floats = y};
  CHECK(same(a, b));
  b.floats = z;
  CHECK_FALSE(same(a, b));
  b.floats = std::span(x).first(1);
  CHECK_FALSE(same(a, b));
}

TEST_CASE("references, strings, lists, tensors and graphs") {
  Attribute a{.kind = AttributeKind::kInt, .i = 1, .ref = "axis"};
  Attribute b{.kind = AttributeKind::kInt, .i = 2, .ref = "axis"};
  CHECK(same(a, b));
  b.ref = "dim";
  CHECK_FALSE(same(a, b));

  const std::array<std::string_view, 2> s = {"x", "y"}, t = {"x", "z"};
  CHECK(same({.kind = AttributeKind::kStrings, .strings = s},
             {.kind = AttributeKind::kStrings, .strings = s}));
  CHECK_FALSE(same({.kind = AttributeKind::kStrings, .strings = s},
                   {.kind = AttributeKind::kStrings, .strings = t}));
  CHECK_FALSE(same({.kind = AttributeKind::kString, .s = "x"},
                   {.kind = AttributeKind::kString, .s = "y"}));

  const std::array<std::int64_t, 1> one = {1};
  const std::array<std::byte, 1> p = {std::byte{1}}, q = {std::byte{1}};
  const Literal m{.dtype = DataType::kInt8, .dims = one, .bytes = p};
  const Literal n{.dtype = DataType::kInt8, .dims = one, .bytes = q};
  const std::array<const Literal*, 1> ms = {&m}, ns = {&n};
  CHECK(same({.kind = AttributeKind::kTensor, .tensors = ms},
             {.kind = AttributeKind::kTensor, .tensors = ns}));

  const std::array<BlockId, 1> g = {BlockId(1u)}, h = {BlockId(2u)};
  CHECK(same({.kind = AttributeKind::kGraph, .blocks = g},
             {.kind = AttributeKind::kGraph, .blocks = g}));
  CHECK_FALSE(same({.kind = AttributeKind::kGraph, .blocks = g},
                   {.kind = AttributeKind::kGraph, .blocks = h}));
  CHECK_FALSE(same({.kind = AttributeKind::kTypeProto, .proto = p},
                   {.kind = AttributeKind::kTypeProto}));
}

}  // namespace
}  // namespace ruleengine::ir
