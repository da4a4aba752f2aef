// The shape operand of a Reshape to symbolic sizes.
#include "core/rewrite/sizes.h"

#include <doctest/doctest.h>

#include "core/ir/model.h"

namespace ruleengine::rewrite {
namespace {

using ir::Dim;

struct Names {
  ir::Model model;
  Dim b = model.dims.symbol("B"), s = model.dims.symbol("S");

  // "0 -1 8" for a Reshape from one shape to another, "!" for allowzero.
  std::string told(std::vector<Dim> from, std::vector<Dim> to) {
    const ir::Type type{.has_shape = true, .dims = from};
    const ReshapeSizes sizes = reshape_sizes(model.dims, &type, to);
    std::string text;
    for (const Dim dim : sizes.dims) text += model.dims.text(dim) + " ";
    return text + (sizes.allow_zero ? "!" : "");
  }
};

TEST_CASE("an axis that stays is copied") {
  Names n;
  CHECK(n.told({n.b, n.s, Dim(8)}, {n.b, n.s, Dim(2), Dim(4)}) == "0 0 2 4 ");
}

TEST_CASE("a single other axis is -1") {
  Names n;
  CHECK(n.told({Dim(2), Dim(4), n.s, Dim(8)}, {Dim(8), n.s, Dim(8)}) ==
        "8 -1 8 ");
}

TEST_CASE("no -1 beside a copy, which may be 0") {
  Names n;
  CHECK(n.told({n.b, Dim(2), n.s}, {n.b, n.s, Dim(2)}) == "B S 2 !");
}

TEST_CASE("a divisor of an old size is 0 only if that size is 0") {
  Names n;
  const Dim heads = n.model.dims.mul(n.b, Dim(4));
  CHECK(n.told({heads, Dim(1), Dim(16), n.s}, {n.b, Dim(4), Dim(16), n.s}) ==
        "B 4 16 0 ");
  CHECK(n.told({heads, Dim(16), n.s}, {n.b, Dim(4), Dim(16), n.s}) ==
        "B 4 16 S !");
}

TEST_CASE("several axes that move") {
  Names n;
  CHECK(n.told({Dim(4), n.b, n.s}, {n.b, n.s, Dim(4)}) == "B S 4 !");
  CHECK(n.told({Dim(4), n.b, n.s, n.s}, {n.b, n.s, Dim(4), Dim(0)}) ==
        "B S 4 S !");
}

TEST_CASE("a -1 that the rule wrote") {
  Names n;
  CHECK(n.told({Dim(4), n.b, n.s}, {n.b, n.s, Dim(-1)}) == "B S 4 !");
}

}  // namespace
}  // namespace ruleengine::rewrite
