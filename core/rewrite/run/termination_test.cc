#include "core/rewrite/driver.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/support/rewrite_driver.h"
#include "tests/support/tier.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using testing::bound;
using testing::chain;
using testing::kLong;
using testing::make;
using testing::Match;
using testing::one_node;
using testing::Runner;
using testing::TestRule;
using testing::unary;
using testing::World;

TEST_CASE("a long chain collapses") {
  World w;
  w.output(w.node("Neg", {chain(w, "Identity", kLong)}, "y"));
  Runner r({unary("drop", "Identity", [](Edit&, ValueId x) { return x; })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "y = Neg(x)");
  CHECK(report->rules[0].rewrites == kLong);
}

TEST_CASE("a rule that shrinks a chain pairwise does not feed itself") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", kLong)}, "y"));
  Runner r({unary(
      "merge", "Relu", [](Edit& e, ValueId x) { return make(e, "Relu", {x}); },
      "Relu")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "v0 = Relu(x); y = Neg(v0)");
}

TEST_CASE("a rule that feeds itself is named") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 2)}, "y"));
  const auto relu = [](Edit& e, ValueId x) {
    return make(e, "Relu", {make(e, "Identity", {x})});
  };
  Runner r({unary("grow", "Relu", relu)});
  const auto report = r.run(w);
  REQUIRE(!report.ok());
  CHECK(report.error().kind == ErrorKind::kLimit);
  CHECK(report.error().what == "rule test/grow feeds itself for ever");
  CHECK(report.error().where == "test.lua: Relu node 'n_v0'");
}

TEST_CASE("two rules that undo each other are named") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  const auto to = [](std::string type) {
    return [=](Edit& e, ValueId x) { return make(e, type, {x}); };
  };
  std::vector<TestRule::Parts> parts = {unary("a", "Relu", to("Tanh")),
                                        unary("b", "Tanh", to("Relu"))};
  SUBCASE("in one phase") {
    Runner r(parts);
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().kind == ErrorKind::kLimit);
    CHECK(report.error().found == "test/a -> test/b -> test/a");
  }
  SUBCASE("in two") {
    parts[1].phase = Phase::kTarget;
    Runner r(parts);
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().kind == ErrorKind::kLimit);
    CHECK(report.error().found.find("test/a -> test/b") == 0);
  }
}

TEST_CASE("a ring of three rules is named") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  const auto to = [](std::string type) {
    return [=](Edit& e, ValueId x) { return make(e, type, {x}); };
  };
  std::vector<TestRule::Parts> parts = {
      unary("a", "Relu", to("Tanh")), unary("b", "Tanh", to("Abs")),
      unary("c", "Abs", to("Relu")), unary("d", "Neg", to("Exp"))};
  SUBCASE("in one phase") {}
  SUBCASE("in three") {
    parts[1].phase = Phase::kLinear;
    parts[2].phase = Phase::kTarget;
  }
  Runner r(parts);
  const auto report = r.run(w);
  REQUIRE(!report.ok());
  CHECK(report.error().what == "rules undo each other for ever");
  CHECK(report.error().found == "test/a -> test/b -> test/c -> test/a");
}

// A rule for Elu, whose new alpha is `next` of the old one; it stops if both
// are equal.
TestRule::Parts counting(std::function<float(float)> next) {
  TestRule::Parts part = unary("count", "Elu", {});
  part.rewrite = [=](std::span<const Match* const> ms,
                     Edit& e) -> std::optional<Rejection> {
    const ir::Attribute* alpha = e.graph().attribute(ms[0]->root, "alpha");
    e.mentions().add(ms[0]->root, "alpha");
    const float now = alpha == nullptr ? 1.0f : alpha->f;
    const float then = next(now);
    if (then == now) return Rejection{"done", ""};
    e.replace(
        ms[0]->results[0],
        make(
            e, "Elu", {bound(*ms[0])},
            {{.name = "alpha", .kind = ir::AttributeKind::kFloat, .f = then}}));
    return std::nullopt;
  };
  return part;
}

TEST_CASE("a rule that counts is only stopped after too many steps") {
  World w;
  w.output(w.node("Neg", {chain(w, "Elu", 1)}, "y"));
  SUBCASE("to an end") {
    Runner r({counting([](float a) { return a < 5000 ? a + 1 : a; })});
    const auto report = r.run(w);
    REQUIRE(report.ok());
    CHECK(report->rules[0].rewrites == 4999);
  }
  if (!runs_all()) return;  // the edits are checked a million times
  SUBCASE("to none") {
    Runner r({counting([](float a) { return a + 1; })});
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().what ==
          "rule test/count feeds itself and does not end");
  }
}

// Removes one Identity from the input of the root, which stays.
TestRule::Parts peel(std::string name) {
  TestRule::Parts part = unary(std::move(name), "Exp", {}, "Identity");
  part.rewrite = [](std::span<const Match* const> ms,
                    Edit& e) -> std::optional<Rejection> {
    e.replace_input(ms[0]->root, 0, bound(*ms[0]));
    return std::nullopt;
  };
  return part;
}

TEST_CASE("a chain that one root absorbs step by step is no loop") {
  World w;
  w.output(w.node("Exp", {chain(w, "Identity", kLong / 2)}, "y"));
  Runner r({peel("peel")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "y = Exp(x)");
}

TEST_CASE("many rounds that end are no loop") {
  World w;
  w.output(w.node("Exp", {chain(w, "Identity", 900)}, "y"));
  auto first = peel("first");
  // One node for each round: then the second phase makes a root for the first.
  first.pattern = [] { return one_node("Abs", 1, "Identity"); };
  first.rewrite = [](std::span<const Match* const> ms,
                     Edit& e) -> std::optional<Rejection> {
    e.replace(ms[0]->results[0], make(e, "Exp", {bound(*ms[0])}));
    return std::nullopt;
  };
  auto second = unary("second", "Exp",
                      [](Edit& e, ValueId x) { return make(e, "Abs", {x}); });
  second.phase = Phase::kTarget;
  Runner r({first, second});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "y = Abs(x)");
  CHECK(report->rules[0].rewrites == 900);
}

TEST_CASE("a rule that grows around a root that stays is named") {
  World w;
  w.output(w.node("Exp", {chain(w, "Abs", 1)}, "y"));
  TestRule::Parts part = unary("grow", "Exp", {});
  part.rewrite = [](std::span<const Match* const> ms,
                    Edit& e) -> std::optional<Rejection> {
    e.replace_input(ms[0]->root, 0, make(e, "Neg", {bound(*ms[0])}));
    return std::nullopt;
  };
  Runner r({part});
  const auto report = r.run(w);
  REQUIRE(!report.ok());
  CHECK(report.error().what == "rule test/grow feeds itself for ever");
}

TEST_CASE("a rule that adds readers to a node that stays") {
  World w;
  const ValueId a = chain(w, "Relu", 1);
  w.output(w.node("Neg", {a}, "y"));
  const auto wrap = [](Edit& e, ValueId x) {
    const ValueId again = make(e, "Relu", {x});  // reuses the node
    return make(e, "Identity", {make(e, "Identity", {again})});
  };
  Runner r({unary("wrap", "Relu", wrap)});
  const auto report = r.run(w);
  REQUIRE(report.ok());  // the second time the node exists
  CHECK(report->rules[0].rewrites == 1);
}

TEST_CASE("limits") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 10)}, "y"));
  Runner r({unary("a", "Relu",
                  [](Edit& e, ValueId x) { return make(e, "Tanh", {x}); })});
  r.options.limits.rewrites = 9;
  const auto report = r.run(w);
  REQUIRE(!report.ok());
  CHECK(report.error().kind == ErrorKind::kLimit);
  CHECK(report.error().found == "10 by test/a");
}

TEST_CASE("the limit on what rules build grows with the model") {
  for (const std::size_t mebibytes : {1u, 100u}) {
    World w;
    w.output(w.node("Neg", {chain(w, "Relu", 20)}, "y"));
    Runner r({unary("a", "Relu", [](Edit& e, ValueId x) {
      for (int i = 0; i < 1000; ++i) x = make(e, "Tanh", {x});
      return x;
    })});
    w.model.limit_growth(mebibytes << 20);
    const auto report = r.run(w);
    REQUIRE(report.ok() == (mebibytes == 100));
    if (report.ok()) continue;
    CHECK(report.error().kind == ErrorKind::kLimit);
    CHECK(report.error().expected == "at most 1 MiB");
    CHECK(report.error().found == "2 MiB, test/a at work");
    CHECK(report.error().where.find("Relu node") != std::string::npos);
  }
}

TEST_CASE("a timeout names the rule and the node at work") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 20)}, "y"));
  Runner r({unary("slow", "Relu", [](Edit& e, ValueId x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return make(e, "Tanh", {x});
  })});
  r.options.limits.deadline = Deadline(0.15);
  const auto report = r.run(w);
  REQUIRE(!report.ok());
  CHECK(report.error().kind == ErrorKind::kLimit);
  CHECK(report.error().what == "the run took too long");
  CHECK(report.error().expected == "at most 0.15 s");
  const std::string& found = report.error().found;
  CHECK(found.find(" s by test/slow, test/slow at work") != found.npos);
}

}  // namespace
}  // namespace ruleengine::rewrite
