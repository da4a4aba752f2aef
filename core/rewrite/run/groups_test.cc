#include "core/rewrite/driver.h"

#include <doctest/doctest.h>

#include "tests/support/rewrite_driver.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using testing::bound;
using testing::make;
using testing::Match;
using testing::one_node;
using testing::Runner;
using testing::TestRule;
using testing::World;

TestRule::Parts together() {
  TestRule::Parts part;
  part.name = "merge";
  part.pattern = [] { return one_node("MatMul", 2); };
  part.key = [](const Match& m, ir::Graph&) {
    return std::to_string(bound(m).index());
  };
  part.rewrite = [](std::span<const Match* const> ms,
                    Edit& e) -> std::optional<Rejection> {
    std::vector<ValueId> weights;
    for (const Match* m : ms) weights.push_back(bound(*m, 1));
    const ValueId w = make(e, "Concat", weights, {World::integer("axis", 1)});
    const ValueId y = make(e, "MatMul", {bound(*ms[0]), w});
    auto split = e.build(
        {.type = "Split",
         .inputs = {y},
         .attributes = {World::integer("axis", 1),
                        World::integer("num_outputs", std::int64_t(ms.size()))},
         .output_count = std::uint32_t(ms.size())});
    const auto parts = std::get<0>(*split);
    for (std::size_t i = 0; i < ms.size(); ++i) {
      e.replace(ms[i]->results[0], parts[i]);
    }
    return std::nullopt;
  };
  return part;
}

TEST_CASE("matches with one key are rewritten as one") {
  World w(18);
  const ValueId x = w.input("x", {2, 2});
  const ValueId z = w.input("z", {2, 2});
  std::vector<ValueId> c;
  for (int i = 0; i < 4; ++i) {
    c.push_back(
        w.constant("w" + std::to_string(i), {1, 2, 3, float(i)}, {2, 2}));
  }
  w.output(w.node("MatMul", {x, c[0]}, "a"));
  w.output(w.node("MatMul", {z, c[1]}, "alone"));
  w.output(w.node("MatMul", {x, c[2]}, "b"));
  Runner r({together()});
  const auto found = find_matches(w.model, r.pointers, r.options);
  REQUIRE(found.ok());
  CHECK(found->size() == 3);
  CHECK(std::ranges::count_if(*found, [](const Found& f) {
          return !f.rejection;
        }) == 2);  // as the report counts them
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() ==
        "alone = MatMul(z, w1); MatMul_Y = MatMul(x, w0_concat); "
        "a b = Split(MatMul_Y)");
  CHECK(report->rules[0].rewrites == 1);
  CHECK(report->rules[0].matches == 2);
}

TEST_CASE("members that depend on another member are excluded") {
  World w(18);
  const ValueId x = w.input("x", {2, 2});
  const ValueId p = w.constant("p", {1, 2, 3, 4}, {2, 2});
  const ValueId a = w.node("MatMul", {x, p}, "a");
  const ValueId t = w.node("Tanh", {a}, "t");
  w.output(w.node("MatMul", {x, t}, "b"));
  Runner r({together()});
  const std::string before = w.text();
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == before);
  CHECK(report->rules[0].matches == 0);
}

TEST_CASE("the other members are still rewritten as one") {
  World w(18);
  const ValueId x = w.input("x", {2, 2});
  const ValueId p = w.constant("p", {1, 2, 3, 4}, {2, 2});
  const ValueId q = w.constant("q", {5, 6, 7, 8}, {2, 2});
  const ValueId a = w.node("MatMul", {x, p}, "a");
  w.output(w.node("MatMul", {x, w.node("Tanh", {a}, "t")}, "b"));
  w.output(w.node("MatMul", {x, q}, "c"));
  Runner r({together()});
  REQUIRE(r.run(w).ok());
  CHECK(w.text() ==
        "MatMul_Y = MatMul(x, p_concat); a c = Split(MatMul_Y); "
        "t = Tanh(a); b = MatMul(x, t)");
}

TEST_CASE("a group has at most as many members as a node has outputs") {
  World w(18);
  const ValueId x = w.input("x", {2, 2});
  const ValueId p = w.constant("p", {1, 2, 3, 4}, {2, 2});
  const std::size_t count = kMaxOutputs + 3;
  for (std::size_t i = 0; i < count; ++i) {
    w.output(w.node("MatMul", {x, p}, "y" + std::to_string(i)));
  }
  std::vector<std::size_t> sizes;
  TestRule::Parts parts = together();
  parts.rewrite = [&sizes, merge = parts.rewrite](
                      std::span<const Match* const> ms, Edit& e) {
    sizes.push_back(ms.size());
    return merge(ms, e);
  };
  Runner r({parts});
  const auto found = find_matches(w.model, r.pointers, r.options);
  REQUIRE(found.ok());
  CHECK(std::ranges::count_if(
            *found, [](const Found& f) { return !f.rejection; }) == count);
  CHECK(sizes == std::vector<std::size_t>{kMaxOutputs, 3});
  sizes.clear();
  REQUIRE(r.run(w).ok());
  sizes.resize(2);  // then both as one, with unequal parts: rejected
  CHECK(sizes == std::vector<std::size_t>{kMaxOutputs, 3});
}

}  // namespace
}  // namespace ruleengine::rewrite
