// No rule rewrites nodes that a runtime computes on integers as floats.
#include <doctest/doctest.h>

#include "core/rewrite/driver.h"
#include "tests/support/rewrite_driver.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using testing::make;
using testing::Match;
using testing::Runner;
using testing::TestRule;
using testing::unary;
using testing::World;

// p = d d for a dequantized d; tests append a reader of p.
struct Quantized : World {
  ValueId scale = constant("scale", {0.5F}, {});
  ValueId d = node(
      "DequantizeLinear",
      {node("QuantizeLinear", {input("x", {2, 2}), scale}, "q"), scale}, "d");
  ValueId p = node("MatMul", {d, d}, "p");
};

constexpr const char* kReason =
    "it is quantized: a runtime computes the MatMul on integers";

// MatMul => Max, or Neg(MatMul) => Tanh; `named`: of a DequantizeLinear, and
// `beside`: of a MatMul that is only looked at, and `kept` where that is so.
struct ProductRule {
  bool named = false, beside = false, kept = false;
};
TestRule::Parts rule(ProductRule options) {
  TestRule::Parts part;
  part.name = "r";
  part.pattern = [=] {
    pattern::Builder b;
    auto x = b.value(b.variable("x", 1), 1);
    if (options.named) {
      pattern::NodePattern below{.type = "DequantizeLinear", .inputs = {x}};
      below.open_inputs = true;
      x = b.context(b.output(*b.node(below), 0), 1);
    }
    pattern::NodePattern product{.type = "MatMul", .inputs = {x, x}};
    auto result = b.output(*b.node(product), 0);
    if (options.beside) {
      pattern::NodePattern above{.type = "Neg"};
      above.inputs = {b.context(result, 1)};
      result = b.output(*b.node(above), 0);
    }
    b.result(result);
    return *b.finish();
  };
  part.rewrite = [=](std::span<const Match* const> ms,
                     Edit& e) -> std::optional<Rejection> {
    ValueId from = e.graph().input(ms[0]->root, 0);
    if (options.beside && !options.kept) {
      from = e.graph().input(e.graph().producer(from), 0);
    }
    e.replace(ms[0]->results[0], make(e, "Tanh", {from}));
    return std::nullopt;
  };
  return part;
}

// "" for a match that is rewritten, else the reason, by find_matches and run.
std::string verdict(World& w, TestRule::Parts parts) {
  Runner r({std::move(parts)});
  const auto found = find_matches(w.model, r.pointers, r.options);
  REQUIRE(found.ok());
  REQUIRE(found->size() == 1);
  const auto rejection = found->front().rejection;
  const std::string before = w.text();
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(report->rules[0].matches == 1);
  CHECK(report->rules[0].rewrites == (rejection ? 0 : 1));
  CHECK((w.text() == before) == rejection.has_value());
  if (!rejection) return "";
  REQUIRE(report->rules[0].rejected.size() == 1);
  CHECK(report->rules[0].rejected[0].reason == rejection->reason);
  CHECK(report->rules[0].rejected[0].value == "MatMul node 'n_p'");
  return rejection->reason;
}

TEST_CASE("a rule that names only the op") {
  Quantized w;
  w.output(w.p);
  CHECK(verdict(w, rule({})) == kReason);
}

TEST_CASE("a rule that names the quantizers of an op") {
  Quantized w;
  w.output(w.p);
  CHECK(verdict(w, rule({.named = true})) == "");
}

TEST_CASE("a context op that dies with the match") {
  Quantized w;
  w.output(w.node("Neg", {w.p}, "y"));
  CHECK(verdict(w, rule({.beside = true})) == kReason);
}

TEST_CASE("a context op that stays") {
  SUBCASE("since the rule reads it") {
    Quantized w;
    w.output(w.node("Neg", {w.p}, "y"));
    CHECK(verdict(w, rule({.beside = true, .kept = true})) == "");
  }
  SUBCASE("since another does") {
    Quantized w;
    w.output(w.node("Neg", {w.p}, "y"));
    w.output(w.node("Abs", {w.p}, "z"));
    CHECK(verdict(w, rule({.beside = true})) == "");
  }
}

}  // namespace
}  // namespace ruleengine::rewrite
