// Attributes that a rule does not mention: when they would be lost, and when
// they would apply to another node.
#include <doctest/doctest.h>

#include "core/rewrite/driver.h"
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

using Rewrite = std::function<ValueId(const Match&, Edit&)>;

// Softmax(x), with any attributes, becomes what `rewrite` builds.
TestRule::Parts softer(Rewrite rewrite) {
  return {.name = "softer",
          .pattern = [] { return one_node("Softmax"); },
          .rewrite = [=](std::span<const Match* const> ms,
                         Edit& e) -> std::optional<Rejection> {
            e.replace(ms[0]->results[0], rewrite(*ms[0], e));
            return std::nullopt;
          }};
}

// A node like the matched one, of -x. The result does not match again, since
// Softmax(Neg) is excluded.
ValueId like(const Match& m, Edit& e, ir::NodeId model) {
  const auto built = e.build({.type = "Softmax",
                              .inputs = {make(e, "Neg", {bound(m)})},
                              .attributes = {World::integer("axis", 0)},
                              .like = model});
  return std::get<0>(*built)[0];
}

// The result for y = Softmax <axis> (x), and the reason.
struct Ended {
  std::string graph, reason;
};
Ended run(Rewrite rewrite, std::int64_t axis) {
  World w(18);
  w.output(
      w.node("Softmax", {w.input("x")}, "y", {World::integer("axis", axis)}));
  TestRule::Parts parts = softer(std::move(rewrite));
  parts.where = [](const Match& m, ir::Graph& g) -> std::optional<Rejection> {
    if (!g.producer(bound(m))) return std::nullopt;
    return Rejection{"done", ""};
  };
  Runner r({std::move(parts)});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  const auto& rejected = report->rules[0].rejected;
  return {w.text(), rejected.empty() ? "" : rejected[0].reason};
}

TEST_CASE("the outputs of a Split mention its number of parts") {
  World w(18);
  w.output(
      w.node("Split", {w.input("x")}, "y", {World::integer("num_outputs", 1)}));
  TestRule::Parts parts = testing::unary(
      "parts", "Split", [](Edit& e, ValueId x) { return make(e, "Abs", {x}); });
  Runner r({std::move(parts)});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "y = Abs(x)");
}

constexpr std::string_view kUnsaid =
    "attribute 'axis' of Softmax is not mentioned by the rule";

TEST_CASE("an attribute that is not mentioned rejects the match") {
  const auto relu = [](const Match& m, Edit& e) {
    return make(e, "Relu", {bound(m)});
  };
  CHECK(run(relu, 0).reason == kUnsaid);
  CHECK(run(relu, 0).graph == "y = Softmax(x)");
  CHECK(run(relu, -1).graph == "y = Relu(x)");  // the default
  CHECK(run(relu, 1).graph == "y = Relu(x)");   // the same, from the front
}

TEST_CASE("an attribute that the rule reads is mentioned") {
  const auto heard = [](std::string_view name) {
    return run(
        [=](const Match& m, Edit& e) {
          e.mentions().add(m.root, name);
          return make(e, "Relu", {bound(m)});
        },
        0);
  };
  CHECK(heard("axis").graph == "y = Relu(x)");
  CHECK(heard("other").reason == kUnsaid);
}

TEST_CASE("a node that is built like another keeps its attributes") {
  const auto carried = [](const Match& m, Edit& e) {
    return like(m, e, m.root);
  };
  CHECK(run(carried, 0).reason == "done");
  const auto twice = [](const Match& m, Edit& e) {
    return like(m, e, e.graph().producer(like(m, e, m.root)));
  };
  CHECK(run(twice, 0).reason == "done");
  const auto in_vain = [](const Match& m, Edit& e) {
    like(m, e, m.root);
    return make(e, "Relu", {bound(m)});
  };
  CHECK(run(in_vain, 0).reason == kUnsaid);
  const auto anew = [](const Match& m, Edit& e) { return like(m, e, {}); };
  CHECK(run(anew, 0).reason == kUnsaid);
}

TEST_CASE("a node that stays and is still read keeps its attributes") {
  const auto upon = [](const Match& m, Edit& e) {
    return make(e, "Relu", {m.results[0]});
  };
  World w(18);
  w.output(w.node(
      "Tanh",
      {w.node("Softmax", {w.input("x")}, "s", {World::integer("axis", 0)})},
      "y"));
  TestRule::Parts parts = softer(upon);
  parts.pattern = [] { return one_node("Tanh", 1, "Softmax"); };
  parts.rewrite = [](std::span<const Match* const> ms,
                     Edit& e) -> std::optional<Rejection> {
    const ValueId s = e.graph().input(ms[0]->root, 0);
    e.replace(ms[0]->results[0], make(e, "Relu", {s}));
    return std::nullopt;
  };
  Runner r({parts});
  REQUIRE(r.run(w).ok());
  CHECK(w.text() == "s = Softmax(x); y = Relu(s)");
}

// Several Softmax nodes of one x become one like the first.
struct Group {
  explicit Group(std::vector<std::int64_t> axes) : w(18) {
    const ValueId x = w.input("x", {2, 2});
    for (std::size_t i = 0; i < axes.size(); ++i) {
      w.output(w.node("Softmax", {x}, "y" + std::to_string(i),
                      {World::integer("axis", axes[i])}));
    }
  }
  TestRule::Parts parts(bool hears_first) {
    TestRule::Parts part;
    part.name = "group";
    part.pattern = [] { return one_node("Softmax"); };
    part.key = [](const Match& m, ir::Graph& g) {
      return g.producer(bound(m)) ? std::to_string(m.root.index()) : "";
    };
    part.rewrite = [this, hears_first](std::span<const Match* const> ms,
                                       Edit& e) -> std::optional<Rejection> {
      sizes.push_back(ms.size());
      if (hears_first) e.mentions().add(ms[0]->root, "axis");
      const ValueId one =
          like(*ms[0], e, hears_first ? ir::NodeId() : ms[0]->root);
      for (const Match* m : ms) {
        e.replace(m->results[0], make(e, "Relu", {one}));
      }
      return std::nullopt;
    };
    return part;
  }

  World w;
  std::vector<std::size_t> sizes;  // of the attempted groups
};

using Sizes = std::vector<std::size_t>;

TEST_CASE(
    "matches are rewritten as one if their unmentioned attributes are equal") {
  for (const bool hears_first : {false, true}) {
    Group equal({0, 0, 0});
    Runner one({equal.parts(hears_first)});
    const auto report = one.run(equal.w);
    REQUIRE(report.ok());
    CHECK(equal.sizes == Sizes{3});
    CHECK(report->rules[0].rewrites == 1);

    Group mixed({0, -1, 0, 1, 0});
    Runner two({mixed.parts(hears_first)});
    const auto found = find_matches(mixed.w.model, two.pointers, two.options);
    REQUIRE(found.ok());
    CHECK(found->size() == 5);
    CHECK(mixed.sizes == Sizes{5, 3, 2});
    mixed.sizes.clear();
    REQUIRE(two.run(mixed.w).ok());
    CHECK(Sizes(mixed.sizes.begin(), mixed.sizes.begin() + 3) ==
          Sizes{5, 3, 2});

    Group alone({0, -1});
    Runner three({alone.parts(hears_first)});
    const auto told =
        find_matches(alone.w.model, three.pointers, three.options);
    REQUIRE(told.ok());
    REQUIRE(told->size() == 2);
    CHECK((*told)[0].rejection->reason.starts_with(
        "attributes that the rule does not mention differ"));
    const std::string before = alone.w.text();
    REQUIRE(three.run(alone.w).ok());
    CHECK(alone.w.text() == before);
  }
}

}  // namespace
}  // namespace ruleengine::rewrite
