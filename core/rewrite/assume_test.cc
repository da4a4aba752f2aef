// Assumptions: reported for kept rewrites, and rejected on request.
#include <doctest/doctest.h>

#include "core/rewrite/driver.h"
#include "tests/support/rewrite_driver.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using testing::chain;
using testing::make;
using testing::Match;
using testing::one_node;
using testing::Runner;
using testing::TestRule;
using testing::unary;
using testing::World;

// Relu(x) => Tanh(x), with an assumption in `where` and one in `rewrite`.
TestRule::Parts bending() {
  auto part = unary("bend", "Relu", [](Edit& e, ValueId x) {
    e.assume({"tanh is near", "'x'"});
    return make(e, "Tanh", {x});
  });
  part.assumes = [](const Match&, ir::Graph&) {
    return std::vector<Assumption>{{"x is small", "'x' float"}};
  };
  return part;
}

// All Relus of one value as one Tanh; those named in `bold` assume.
TestRule::Parts grouped(std::string bold) {
  TestRule::Parts part;
  part.name = "group";
  part.pattern = [] { return one_node("Relu"); };
  part.key = [](const Match&, ir::Graph&) { return std::string("all"); };
  part.assumes = [=](const Match& m, ir::Graph& g) {
    std::vector<Assumption> out;
    if (bold.find(g.name(m.results[0])) != std::string::npos) {
      out.push_back({"so it is", ""});
    }
    return out;
  };
  part.rewrite = [](std::span<const Match* const> ms,
                    Edit& e) -> std::optional<Rejection> {
    const ValueId y = make(e, "Tanh", {testing::bound(*ms[0])});
    for (const Match* m : ms) e.replace(m->results[0], y);
    return std::nullopt;
  };
  return part;
}

std::string said(const DriverReport& report) {
  std::string text;
  for (const Assumed& each : report.assumptions) {
    text += each.rule + " " + each.node + ": " + each.assumption.text + " (" +
            each.assumption.value + "); ";
  }
  return text;
}

TEST_CASE(
    "the assumptions of kept rewrites are in the report, in their order") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 2)}, "y"));
  Runner r({bending()});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(said(*report) ==
        "bend n_v0: x is small ('x' float); bend n_v0: tanh is near ('x'); "
        "bend n_v1: x is small ('x' float); bend n_v1: tanh is near ('x'); ");
}

TEST_CASE("a rejected or ineffective rewrite assumes nothing") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  auto refused = bending();
  refused.rewrite = [](auto, Edit& e) {
    e.assume({"anything", ""});
    return Rejection{"no", ""};
  };
  auto same = unary("same", "Neg", [](Edit& e, ValueId x) {
    e.assume({"anything", ""});
    return make(e, "Neg", {x});
  });
  Runner r({refused, same});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(said(*report).empty());
}

TEST_CASE("an undone edit has no assumptions") {
  World w;
  w.output(chain(w, "Relu", 2));
  w.output(w.node("Neg", {w.find("x")}, "y"));
  auto other = unary("other", "Neg", [](Edit& e, ValueId x) {
    e.assume({"x is large", ""});
    return make(e, "Abs", {x});
  });
  other.phase = Phase::kAttention;
  Runner r({bending(), other});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "v0 = Relu(x); v1 = Relu(v0); y = Abs(x)");
  CHECK(said(*report) == "other n_y: x is large (); ");
}

// For each kind of edit: of a group, of a pass, or at a node that is rewritten
// again.
TEST_CASE("an undone edit has no warnings") {
  World w;
  const ValueId x = w.input("x");
  for (const char* name : {"a", "b"}) w.output(w.node("Relu", {x}, name));
  w.output(w.node("Exp", {x}, "e"));
  w.output(w.node("Neg", {x}, "y"));
  auto group = grouped("ab");
  group.allowed = "of the group";
  TestRule::Parts pass{.name = "pass"};
  pass.pass = [&](Edit& edit) {
    const ValueId e = w.find("e");
    if (w.graph().op(w.graph().producer(e)).type != "Exp") return false;
    edit.assume({"of the pass", ""});
    edit.replace(e, make(edit, "Sqrt", {w.find("x")}));
    return true;
  };
  auto other = unary("other", "Neg", [](Edit& e, ValueId v) {
    e.assume({"x is large", ""});
    return make(e, "Abs", {v});
  });
  other.allowed = "of what is kept";
  other.phase = Phase::kAttention;
  Runner r({group, pass, other});
  SUBCASE("undone") {
    const auto report = r.run(w);
    REQUIRE(report.ok());
    CHECK(w.text() == "a = Relu(x); b = Relu(x); e = Exp(x); y = Abs(x)");
    CHECK(said(*report) == "other n_y: x is large (); ");
    REQUIRE(report->allowed.size() == 1);
    CHECK(report->allowed[0].message == "of what is kept");
    CHECK(report->rules[0].rewrites == 0);
    CHECK(report->rules[1].rewrites == 0);
  }
  SUBCASE("kept") {
    r.options.keep_all = true;
    const auto report = r.run(w);
    REQUIRE(report.ok());
    CHECK(report->assumptions.size() == 4);
    CHECK(report->allowed.size() == 3);
  }
}

TEST_CASE("with `exact` they are rejected, from `where` and from `rewrite`") {
  for (const bool in_where : {true, false}) {
    World w;
    w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
    auto part = bending();
    if (!in_where) part.assumes = nullptr;
    Runner r({part, unary("other", "Neg", [](Edit& e, ValueId x) {
                return make(e, "Abs", {x});
              })});
    r.options.exact = true;
    const auto report = r.run(w);
    REQUIRE(report.ok());
    CHECK(w.text() == "v0 = Relu(x); y = Abs(v0)");
    CHECK(said(*report).empty());
    REQUIRE(report->rules[0].rejected.size() == 1);
    const Rejected& why = report->rules[0].rejected[0];
    CHECK(why.node == "n_v0");
    CHECK(why.reason == (in_where ? "it rests on an assumption: x is small"
                                  : "it rests on an assumption: tanh is near"));
    CHECK(why.value == (in_where ? "'x' float" : "'x'"));
    CHECK(report->rules[0].matches == 1);
  }
}

TEST_CASE("find_matches names them, and rejects them with `exact`") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  Runner r({bending()});
  auto found = find_matches(w.model, r.pointers, r.options);
  REQUIRE(found.ok());
  REQUIRE(found->size() == 1);
  CHECK(!found->front().rejection);
  CHECK(found->front().assumptions ==
        std::vector<Assumption>{{"x is small", "'x' float"},
                                {"tanh is near", "'x'"}});
  r.options.exact = true;
  found = find_matches(w.model, r.pointers, r.options);
  REQUIRE(found.ok());
  REQUIRE(found->front().rejection);
  CHECK(found->front().assumptions.empty());
}

TEST_CASE(
    "each member of a group has its own; the others form a group without it") {
  const auto fill = [](World& w) {
    const ValueId x = w.input("x");
    std::vector<ValueId> all;
    for (const char* name : {"a", "b", "c"}) {
      all.push_back(w.node("Relu", {x}, name));
    }
    w.output(w.node("Sum", all, "y"));
  };
  World w;
  fill(w);
  Runner r({grouped("bc")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(said(*report) == "group n_b: so it is (); group n_c: so it is (); ");
  World strict;
  fill(strict);
  Runner exact({grouped("b")});
  exact.options.exact = true;
  const auto left = exact.run(strict);
  REQUIRE(left.ok());
  CHECK(strict.text() == "b = Relu(x); a = Tanh(x); y = Sum(a, b, a)");
  CHECK(left->rules[0].matches == 3);
  REQUIRE(left->rules[0].rejected.size() == 1);
  CHECK(left->rules[0].rejected[0].node == "n_b");
}

TEST_CASE("a pass has them by transaction") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 2)}, "y"));
  TestRule::Parts part{.name = "p"};
  part.transactions = [&](Transactions& all) -> Status {
    for (const char* name : {"v0", "v1"}) {
      const ValueId v = w.find(name);
      const ir::NodeId node = w.graph().producer(v);
      if (!node || w.graph().op(node).type != "Relu") continue;
      Edit& edit = all.edit();
      edit.replace(v, make(edit, "Tanh", {w.graph().inputs(node)[0].value}));
      if (v == w.find("v1")) edit.assume({"one of two", ""});
      if (Status s = all.end(node, {}); !s) return s;
    }
    return {};
  };
  Runner r({part});
  SUBCASE("kept") {
    const auto report = r.run(w);
    REQUIRE(report.ok());
    CHECK(said(*report) == "p n_v1: one of two (); ");
  }
  SUBCASE("left out") {
    r.options.exact = true;
    const auto report = r.run(w);
    REQUIRE(report.ok());
    CHECK(w.text() == "v0 = Tanh(x); v1 = Relu(v0); y = Neg(v1)");
    REQUIRE(report->rules[0].rejected.size() == 1);
    CHECK(report->rules[0].rejected[0].reason ==
          "it rests on an assumption: one of two");
  }
}

TEST_CASE("assumptions count towards the limit like nodes") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 40)}, "y"));
  auto part = unary("talks", "Relu",
                    [](Edit& e, ValueId x) { return make(e, "Tanh", {x}); });
  part.assumes = [](const Match&, ir::Graph&) {
    std::vector<Assumption> all;
    const std::string letters(2000, 'a');
    for (int i = 0; i < 40; ++i) all.push_back({letters, ""});
    return all;
  };
  Runner r({part});
  w.model.limit_growth(1 << 20);
  const auto report = r.run(w);
  REQUIRE(!report.ok());
  CHECK(report.error().kind == ErrorKind::kLimit);
}

}  // namespace
}  // namespace ruleengine::rewrite
