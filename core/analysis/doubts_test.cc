// Types that may be wrong where sizes are 0.
#include <doctest/doctest.h>

#include "core/analysis/graph_builder_test.h"

namespace ruleengine::analysis {
namespace {

using ir::ValueId;
using Values = std::vector<ValueId>;

struct Doubting : Builder {
  // The sizes of `x` at these axes and the given numbers, as a shape.
  ValueId sizes(ValueId x, std::vector<std::int64_t> axes,
                std::vector<std::int64_t> numbers) {
    const ValueId shape = add("Shape", {x});
    Values all = {add("Gather", {shape, ints(axes)})};
    if (!numbers.empty()) all.push_back(ints(numbers));
    return add("Concat", all, {i("axis", 0)});
  }
  static bool doubts(ir::Facts& facts, ValueId value) {
    facts.settle_doubts();
    return facts.doubt(Values{value}).has_value();
  }
};

TEST_CASE_FIXTURE(Doubting, "a size that copies another one") {
  // 0 of [B,4,S,8] at axis 1 would copy the 4 heads.
  const ValueId x = input({"B", "4", "S", "8"});
  const ValueId y = add("Reshape", {x, sizes(x, {0, 2}, {32})});
  const ValueId z = add("Relu", {y});
  Inference facts(g);
  CHECK(text(facts, y) == "float[B,S,32]");
  CHECK(doubts(facts, y));
  CHECK(doubts(facts, z));
  CHECK_FALSE(doubts(facts, x));
  CHECK(g.describe(facts.doubt(Values{z})->node).find("Reshape") == 0);
}

TEST_CASE_FIXTURE(Doubting, "a size that copies itself") {
  const ValueId x = input({"B", "S", "32"});
  const ValueId y = add("Reshape", {x, sizes(x, {0, 1}, {4, 8})});
  const ValueId all =
      add("Reshape", {x, sizes(x, {1, 0}, {32})}, {i("allowzero", 1)});
  Inference facts(g);
  CHECK_FALSE(doubts(facts, y));
  CHECK_FALSE(doubts(facts, all));
  CHECK_FALSE(facts.has_doubts());
}

TEST_CASE_FIXTURE(Doubting, "models that cannot run where it matters") {
  const ValueId x = input({"B", "4", "S", "8"});
  const ValueId shape = sizes(x, {0, 2}, {32});
  const ValueId y = add("Reshape", {x, shape});
  SUBCASE("an operand that does not fit") {
    const ValueId other = input({"B", "S", "32"});
    const ValueId sum = add("Add", {y, other});
    Inference facts(g);
    CHECK_FALSE(doubts(facts, sum));
  }
  SUBCASE("an operand that fits") {
    const ValueId other = input({"B", "1", "32"});
    const ValueId sum = add("Add", {y, other});
    Inference facts(g);
    CHECK(doubts(facts, sum));
  }
  SUBCASE("an axis that is not there") {
    const ValueId flat = add("Reshape", {y, ints({-1, 32})});
    const ValueId again = add("Reshape", {flat, sizes(x, {0, 0, 0}, {32, -1})});
    Inference facts(g);
    CHECK_FALSE(doubts(facts, again));
  }
}

}  // namespace
}  // namespace ruleengine::analysis
