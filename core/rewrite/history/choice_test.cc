#include <doctest/doctest.h>

#include <string>

#include "tests/support/rewrite_driver.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using testing::binary;
using testing::bound;
using testing::fuses;
using testing::make;
using testing::Match;
using testing::rewrites;
using testing::Runner;
using testing::skips;
using testing::spells;
using testing::TestRule;
using testing::unary;
using testing::World;

using Parts = TestRule::Parts;

TEST_CASE("what makes the graph smaller stays, though nothing else fires") {
  World w;
  const ValueId a = w.node("Abs", {w.input("x")}, "a");
  w.output(w.node("Neg", {w.node("Identity", {a}, "b")}, "y"));
  Runner r({spells("Abs", "Tanh"), skips(), fuses("Relu", "Tanh", "Sqrt")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "a = Abs(x); y = Neg(a)");
  CHECK(rewrites(*report, "Identity") == 1);
  CHECK(rewrites(*report, "Abs") == 0);
}

TEST_CASE("a form stays with another one if both together make it smaller") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Abs", {x}, "a");
  w.output(w.node("Relu", {a}, "y"));
  // Abs(x) => Tanh(Cos(x)), Relu(Tanh(x)) => x
  Parts grows = unary("grows", "Abs", [](Edit& e, ValueId v) {
    return make(e, "Tanh", {make(e, "Cos", {v})});
  });
  Parts shrinks = unary(
      "shrinks", "Relu", [](Edit&, ValueId v) { return v; }, "Tanh");
  SUBCASE("") {
    Runner r({grows, shrinks, fuses("Exp", "", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() == "y = Cos(x)");
  }
  SUBCASE("not if the grown part has another reader") {
    w.output(w.node("Neg", {a}, "z"));
    Runner r({grows, shrinks, fuses("Exp", "", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() == "a = Abs(x); y = Relu(a); z = Neg(a)");
  }
}

TEST_CASE("a node dies with the last of its readers") {
  World w;
  const ValueId x = w.input("x");
  const ValueId far = w.node("Exp", {w.node("Sin", {x}, "s")}, "e");
  const ValueId p = w.node("Add", {x, far}, "p");
  const ValueId q = w.node("Mul", {x, far}, "q");
  w.output(w.node("Neg", {p}, "y"));
  w.output(w.node("Abs", {q}, "z"));
  const auto drops = [](const char* op) {
    return binary(op, [](Edit& e, ValueId a, ValueId) {
      return make(e, "Tanh", {make(e, "Cos", {a})});
    });
  };
  SUBCASE("all of which are taken by forms that stay together") {
    Runner r({drops("Add"), drops("Mul"), fuses("Relu", "", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.graph().live_node_count() == 4);
  }
  SUBCASE("one of which no form takes") {
    Runner r({drops("Add"), fuses("Relu", "", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.graph().live_node_count() == 6);
  }
}

TEST_CASE("a node that another reader keeps alive is no gain") {
  World w;
  const ValueId x = w.input("x");
  const ValueId near = w.node("Acos", {w.node("Sin", {x}, "s")}, "c");
  const ValueId far = w.node("Exp", {near}, "e");
  w.output(w.node("Mul", {x, far}, "z"));
  w.output(w.node("Add", {x, far}, "y"));
  const std::string before = w.text();
  const Parts add = binary("Add", [](Edit& e, ValueId a, ValueId) {
    return make(e, "Tanh", {make(e, "Cos", {a})});
  });
  SUBCASE("one that a form removes") {
    const Parts mul = binary("Mul", [](Edit& e, ValueId a, ValueId) {
      return make(e, "Ceil", {make(e, "Floor", {make(e, "Round", {a})})});
    });
    Runner r({mul, add, fuses("Relu", "", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() == before);
  }
  SUBCASE("one that a form turns away") {
    Parts mul = binary("Mul", nullptr);
    mul.rewrite = [](std::span<const Match* const> ms, Edit& e) {
      const ValueId rounded = make(e, "Round", {bound(*ms[0])});
      const ValueId long_way = make(e, "Ceil", {make(e, "Floor", {rounded})});
      e.replace_input(e.graph().producer(ms[0]->results[0]), 1, long_way);
      return std::optional<Rejection>();
    };
    mul.where = [](const Match& m, ir::Graph& g) -> std::optional<Rejection> {
      if (g.op(g.producer(bound(m, 1))).type == "Exp") return std::nullopt;
      return Rejection{"done", ""};
    };
    Runner r({mul, add, fuses("Relu", "", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() == before);
  }
}

TEST_CASE("a form takes a reader from what replaces the value later") {
  World w;
  const ValueId x = w.input("x");
  const ValueId far = w.node("Exp", {x}, "e");
  w.output(w.node("Add", {x, far}, "z"));
  w.output(w.node("Neg", {far}, "y"));
  const Parts add = binary(
      "Add", [](Edit& e, ValueId a, ValueId) { return make(e, "Floor", {a}); });
  Parts later = unary("Exp", "Exp",
                      [](Edit& e, ValueId v) { return make(e, "Tanh", {v}); });
  later.phase = Phase::kAttention;
  Runner r({add, later, fuses("Neg", "Tanh", "Sqrt")});
  REQUIRE(r.run(w).ok());
  CHECK(w.text() == "z = Floor(x); y = Sqrt(x)");
}

TEST_CASE("a node that only undone edits made is no gain when it dies") {
  World w;
  const ValueId v = w.input("v");
  w.output(w.node("Neg", {w.node("Abs", {w.input("x")}, "a")}, "y"));
  const std::string before = w.text();
  const Parts grows = unary("Abs", "Abs", [](Edit& e, ValueId x) {
    return make(e, "Tanh", {make(e, "Cos", {x})});
  });
  const Parts elsewhere = unary("Neg", "Neg", [=](Edit& e, ValueId) {
    return make(e, "Floor", {make(e, "Sin", {v})});
  });
  Runner r({grows, elsewhere, fuses("Relu", "", "Sqrt")});
  REQUIRE(r.run(w).ok());
  CHECK(w.text() == before);
}

TEST_CASE("a node that an undone edit made costs those that share it") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Abs", {x}, "z"));
  w.output(w.node("Relu", {w.node("Exp", {x}, "e")}, "y"));
  const std::string before = w.text();
  const Parts first = unary("Abs", "Abs", [](Edit& e, ValueId v) {
    return make(e, "Tanh", {make(e, "Cos", {v})});
  });
  const Parts second = unary(
      "Relu", "Relu",
      [](Edit& e, ValueId v) { return make(e, "Ceil", {make(e, "Cos", {v})}); },
      "Exp");
  Runner r({first, second, fuses("Neg", "", "Sqrt")});
  REQUIRE(r.run(w).ok());
  CHECK(w.text() == before);
}

TEST_CASE("a node of a kept edit and an equal one that is back become one") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Neg", {w.node("Abs", {x}, "a")}, "z"));
  w.output(w.node("Ceil", {w.node("Relu", {x}, "r")}, "y"));
  const Parts form = unary(
      "Neg", "Neg",
      [](Edit& e, ValueId v) { return make(e, "Sin", {make(e, "Tanh", {v})}); },
      "Abs");
  Runner r({form, fuses("Relu", "", "Abs")});
  REQUIRE(r.run(w).ok());
  CHECK(w.graph().live_node_count() == 3);
  CHECK(w.text() == "a = Abs(x); z = Neg(a); y = Ceil(a)");
}

TEST_CASE("what simplifies is lent too, also alone") {
  World w;
  w.output(w.node("Abs", {w.node("Identity", {w.input("x")}, "i")}, "y"));
  Parts spelling = spells("Abs", "Tanh"), shorter = skips();
  spelling.phase = shorter.phase = Phase::kSimplify;
  Runner r({spelling, shorter});
  REQUIRE(r.run(w).ok());
  CHECK(w.text() == "y = Abs(x)");
}

}  // namespace
}  // namespace ruleengine::rewrite
