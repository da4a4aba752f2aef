#include "core/rewrite/driver.h"

#include <doctest/doctest.h>

#include "tests/support/rewrite_driver.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;
using testing::chain;
using testing::kLong;
using testing::make;
using testing::Runner;
using testing::TestRule;
using testing::unary;
using testing::World;

TEST_CASE("a pass runs until it has nothing to change") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 3)}, "y"));
  TestRule::Parts part{.name = "p", .pass = [](Edit& e) {
                         ir::Graph& g = e.graph();
                         for (std::size_t i = 0; i < g.node_count(); ++i) {
                           const NodeId n(i);
                           if (g.node(n).removed) continue;
                           if (!g.op(n).standard("Relu")) continue;
                           e.replace(g.output(n), g.input(n, 0));
                           return true;
                         }
                         return false;
                       }};
  Runner r({part});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "y = Neg(x)");
  CHECK(report->rules[0].rewrites == 3);
}

TEST_CASE("the transactions of a pass are independent") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 3)}, "y"));
  TestRule::Parts part{.name = "p", .transactions = [](Transactions& all) {
                         ir::Graph& g = all.edit().graph();
                         for (std::size_t i = 0; i < g.node_count(); ++i) {
                           const NodeId n(i);
                           if (!g.op(n).standard("Relu")) continue;
                           Edit& e = all.edit();
                           e.replace(g.output(n), g.input(n, 0));
                           std::optional<Rejection> why;
                           if (i == 1) why = {"not this one", "i"};
                           if (auto s = all.end(n, why); !s) return s;
                         }
                         return Status();
                       }};
  Runner r({part});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "v1 = Relu(x); y = Neg(v1)");
  const RuleReport& rule = report->rules[0];
  CHECK(rule.rewrites == 2);
  CHECK(rule.matches == 3);
  REQUIRE(rule.rejected.size() == 1);
  CHECK(rule.rejected[0].reason == "not this one");
  CHECK(rule.rejected[0].node != "");
}

// A pass over the first node with that type.
TestRule::Parts pass_at(std::string name, std::string type,
                        std::function<void(Edit&, NodeId)> change) {
  return {.name = std::move(name), .pass = [=](Edit& e) {
            ir::Graph& g = e.graph();
            for (std::size_t i = 0; i < g.node_count(); ++i) {
              const NodeId n(i);
              if (g.node(n).removed || !g.op(n).standard(type)) continue;
              change(e, n);
              return true;
            }
            return false;
          }};
}

TEST_CASE("a pass that shrinks a long chain ends") {
  World w;
  const int length = kLong / 8;
  w.output(w.node("Neg", {chain(w, "Relu", length)}, "y"));
  Runner r({pass_at("p", "Relu", [](Edit& e, NodeId n) {
    e.replace(e.graph().output(n), e.graph().input(n, 0));
  })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "y = Neg(x)");
}

TEST_CASE("an endless pass is named, with the rule that undoes it") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  const auto swap_for = [](std::string type) {
    return [=](Edit& e, NodeId n) {
      e.replace(e.graph().output(n), make(e, type, {e.graph().input(n, 0)}));
    };
  };
  // Runs first and never matches.
  const auto idle = unary("idle", "Cos", [](Edit&, ValueId x) { return x; });
  SUBCASE("a pass and a rule") {
    Runner r({idle, pass_at("p", "Relu", swap_for("Tanh")),
              unary("q", "Tanh",
                    [](Edit& e, ValueId x) { return make(e, "Relu", {x}); })});
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().what == "rules undo each other for ever");
    CHECK(report.error().found == "test/p -> test/q -> test/p");
  }
  SUBCASE("a pass that extends its own results") {
    Runner r({idle, pass_at("p", "Neg", [](Edit& e, NodeId n) {
                e.replace_input(n, 0, make(e, "Abs", {e.graph().input(n, 0)}));
              })});
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().what == "rule test/p feeds itself for ever");
  }
}

}  // namespace
}  // namespace ruleengine::rewrite
