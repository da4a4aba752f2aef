#include "core/rewrite/driver.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text/parse.h"
#include "tests/support/rewrite_driver.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using testing::chain;
using testing::make;
using testing::Match;
using testing::Runner;
using testing::TestRule;
using testing::unary;
using testing::World;

TEST_CASE("rules run to the fixed point") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 3)}, "y"));
  Runner r({unary("a", "Relu",
                  [](Edit& e, ValueId x) { return make(e, "Tanh", {x}); }),
            unary("b", "Tanh",
                  [](Edit& e, ValueId x) { return make(e, "Abs", {x}); })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "v0 = Abs(x); v1 = Abs(v0); v2 = Abs(v1); y = Neg(v2)");
  CHECK(report->rules[0].rewrites == 3);
  CHECK(report->rules[1].rewrites == 3);
  CHECK(report->rules[0].matches == 3);
  CHECK(report->rules[0].name == "a");
}

TEST_CASE("nothing changes if nothing matches") {
  World w;
  w.node("Abs", {chain(w, "Relu", 3)}, "dead");
  w.output(w.find("v2"));
  w.constant("unused", {1}, {1});
  const std::string before = w.text();
  Runner r({unary("a", "Tanh", [](Edit&, ValueId x) { return x; })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == before);
  CHECK(!w.model.changed);
  CHECK(w.model.ir_version == 8);
  CHECK(w.find("unused"));
}

TEST_CASE("the first rewrite removes declared sizes that inputs contradict") {
  for (const bool fires : {true, false}) {
    auto model = text::parse_model(R"(<ir_version: 8, opset_import: ["": 17]>
        g (float[N,4] x) => (float[N,4] y)
        <float[8,4] stale, float[N,4] named, float[8,4] own> {
      stale = Relu(x)
      named = Exp(stale)
      own = Abs(named)
      y = Neg(own)
    })",
                                   "model");
    REQUIRE(model.ok());
    ir::Graph& graph = (*model)->graph;
    Runner r({unary("a", fires ? "Neg" : "Tanh",
                    [](Edit& e, ValueId x) { return make(e, "Sin", {x}); })});
    REQUIRE(run(**model, r.pointers, r.options).ok());
    std::vector<std::string> declared;
    for (std::size_t i = 0; i < graph.value_count(); ++i) {
      const ir::Value& v = graph.value(ValueId(i));
      if (v.removed || v.kind != ir::ValueKind::kNodeOutput) continue;
      if (v.declared) declared.emplace_back(graph.name(ValueId(i)));
    }
    std::ranges::sort(declared);
    CHECK(declared ==
          (fires ? std::vector<std::string>{"named", "y"}
                 : std::vector<std::string>{"named", "own", "stale", "y"}));
  }
}

TEST_CASE("each rejection is reported once, at the fixed point") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 2)}, "y"));
  auto parts = unary("no", "Relu", [](Edit&, ValueId x) { return x; });
  parts.where = [](const Match&, ir::Graph&) {
    return Rejection{"not today", "x"};
  };
  Runner r({parts, unary("b", "Neg", [](Edit& e, ValueId x) {
              return make(e, "Abs", {x});
            })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  REQUIRE(report->rules[0].rejected.size() == 2);
  CHECK(report->rules[0].rejected[0].node == "n_v0");
  CHECK(report->rules[0].rejected[0].reason == "not today");
  CHECK(report->rules[0].matches == 2);
  CHECK(report->rules[0].rewrites == 0);
  CHECK(w.text() == "v0 = Relu(x); v1 = Relu(v0); y = Abs(v1)");
}

TEST_CASE("a result of another shape is rejected, the run goes on") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  Runner r({unary("bad", "Relu",
                  [&](Edit& e, ValueId x) {
                    return make(e, "Transpose", {x}, {w.ints("perm", {1, 0})});
                  }),
            unary("good", "Neg",
                  [](Edit& e, ValueId x) { return make(e, "Abs", {x}); })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  REQUIRE(report->rules[0].rejected.size() == 1);
  CHECK(report->rules[0].rejected[0].reason == "wrong shape of the result");
  CHECK(w.text() == "v0 = Relu(x); y = Abs(v0)");
}

TEST_CASE("phases run in order, and again while anything changes") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  std::string log;
  const auto to = [&](std::string name, std::string type) {
    return [=, &log](Edit& e, ValueId x) {
      log += name;
      return make(e, type, {x});
    };
  };
  std::vector<TestRule::Parts> parts = {unary("c", "Abs", to("c", "Sqrt")),
                                        unary("b", "Tanh", to("b", "Abs")),
                                        unary("a", "Relu", to("a", "Tanh"))};
  parts[0].phase = Phase::kCanonical;
  parts[1].phase = Phase::kAttention;
  parts[2].phase = Phase::kConversion;
  Runner r(parts);
  REQUIRE(r.run(w).ok());
  CHECK(log == "abc");
  CHECK(w.text() == "v0 = Sqrt(x); y = Neg(v0)");
}

TEST_CASE("after: within a phase") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 2)}, "y"));
  std::string log;
  const auto to = [&](std::string name, std::string type) {
    return [=, &log](Edit& e, ValueId x) {
      log += name;
      return make(e, type, {x});
    };
  };
  std::vector<TestRule::Parts> parts = {unary("n", "Neg", to("n", "Abs")),
                                        unary("r", "Relu", to("r", "Tanh"))};
  SUBCASE("the named rule is done first") {
    parts[0].after = {"r"};
    Runner r(parts);
    REQUIRE(r.run(w).ok());
    CHECK(log == "rrn");
  }
  SUBCASE("a cycle is an error") {
    parts[0].after = {"r"};
    parts[1].after = {"n"};
    Runner r(parts);
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().kind == ErrorKind::kRule);
  }
}

TEST_CASE("function bodies are rewritten, uncalled functions are removed") {
  World w;
  auto f = std::make_unique<ir::Function>(w.model);
  f->domain = "my";
  f->name = "F";
  f->inputs = {};
  f->opset_imports = {{"", 17}};
  ir::Graph& body = f->body;
  const ValueId in =
      body.add_value(w.model.names.intern("in"), ir::Graph::main_block(),
                     ir::ValueKind::kUndefined);
  body.add_block_input(ir::Graph::main_block(), in);
  const ValueId out =
      body.add_value(w.model.names.intern("out"), ir::Graph::main_block(),
                     ir::ValueKind::kUndefined);
  const ValueId ins[] = {in}, outs[] = {out};
  body.add_node(w.model.ops.intern("", "Relu"), ir::Graph::main_block(), "r",
                ins, outs, {});
  body.add_block_output(ir::Graph::main_block(), out);
  w.model.functions.push_back(std::move(f));
  const ValueId x = w.input("x");
  w.output(w.node("my::F", {x}, "y"));
  Runner r({unary("a", "Relu", [](Edit& e, ValueId v) {
    auto built = e.build({.domain = "other", .type = "Op", .inputs = {v}});
    return std::get<0>(*built)[0];
  })});
  SUBCASE("once a body") {
    REQUIRE(r.run(w).ok());
    CHECK(World::text_of(w.model.functions[0]->body) == "out = other::Op(in)");
    CHECK(w.model.functions[0]->opset_imports.size() == 2);
    CHECK(!w.model.functions[0]->removed);
  }
  SUBCASE("but not those of the engine's own ops") {
    w.model.functions[0]->domain = "ruleengine";
    w.model.functions[0]->name = "Linear";
    REQUIRE(r.run(w).ok());
    CHECK(World::text_of(w.model.functions[0]->body) == "out = Relu(in)");
  }
  SUBCASE("and the function is removed with its last call") {
    Runner drop(
        {TestRule::Parts{.name = "d", .pass = [&](Edit& e) {
                           const ValueId y = w.find("y");
                           if (&e.graph() != &w.model.graph) return false;
                           if (e.graph().op(e.graph().producer(y)).type != "F")
                             return false;
                           e.replace(y, make(e, "Neg", {x}));
                           return true;
                         }}});
    REQUIRE(drop.run(w).ok());
    CHECK(w.model.functions[0]->removed);
  }
}

TEST_CASE("find_matches changes nothing") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 2)}, "y"));
  Runner r({unary("a", "Relu",
                  [](Edit& e, ValueId x) { return make(e, "Tanh", {x}); })});
  const std::string before = testing::dump(w.graph());
  const auto found = find_matches(w.model, r.pointers, r.options);
  REQUIRE(found.ok());
  CHECK(found->size() == 2);
  CHECK((*found)[0].rule == "a");
  CHECK(w.text() == "v0 = Relu(x); v1 = Relu(v0); y = Neg(v1)");
  CHECK(!w.model.changed);
}

TEST_CASE("find_matches lists the nodes that die with a match") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  const ValueId b = w.node("Abs", {a}, "b");
  w.output(w.node("Neg", {b}, "y"));
  const auto found_by = [&](std::vector<ValueId> inputs) {
    Runner r({unary("r", "Neg",
                    [=](Edit& e, ValueId) { return make(e, "Sum", inputs); })});
    const auto found = find_matches(w.model, r.pointers, r.options);
    REQUIRE(found.ok());
    REQUIRE(found->size() == 1);
    CHECK(found->front().nodes == std::vector{w.maker("y")});
    return found->front().dead;
  };
  CHECK(found_by({x, x}) == std::vector{w.maker("a"), w.maker("b")});
  CHECK(found_by({a, x}) == std::vector{w.maker("b")});
  CHECK(found_by({b, x}).empty());
}

TEST_CASE("find_matches reports rejections by the rewrite and its check") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 2)}, "y"));
  auto refuses = unary("r", "Relu", nullptr);
  refuses.rewrite = [](auto, Edit&) { return Rejection{"no", "this"}; };
  Runner r({unary("flat", "Relu",
                  [](Edit& e, ValueId x) { return make(e, "Size", {x}); }),
            unary("same", "Neg",
                  [](Edit& e, ValueId x) { return make(e, "Neg", {x}); }),
            refuses});
  const auto find = [&] {
    return find_matches(w.model, r.pointers, r.options);
  };
  REQUIRE(find().ok());  // sets the ranks of the nodes
  const std::string before = testing::dump(w.graph());
  const auto found = find();
  REQUIRE(found.ok());
  std::string reasons;
  for (const Found& f : *found) {
    REQUIRE(f.rejection);
    reasons += f.rule + ": " + f.rejection->reason + "; ";
  }
  CHECK(reasons ==
        "flat: wrong type of the result; r: no; "
        "flat: wrong type of the result; r: no; "
        "same: the rewrite changes nothing; ");
  CHECK(testing::dump(w.graph()) == before);
}

TEST_CASE("two runs give the same names") {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    World w;
    w.output(w.node("Neg", {chain(w, "Relu", 50)}, "y"));
    Runner r({unary("a", "Relu", [](Edit& e, ValueId x) {
      return make(e, "Tanh", {make(e, "Abs", {x})});
    })});
    REQUIRE(r.run(w).ok());
    if (i == 0) first = w.text();
    CHECK(w.text() == first);
  }
}

// The first act writes a canonical form, the second has a rule that reads it.
TEST_CASE("a rejection that a later act repeats is reported once") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  auto no = unary("no", "Neg", [](Edit&, ValueId x) { return x; });
  no.where = [](const Match&, ir::Graph&) { return Rejection{"no", "", 23}; };
  no.phase = Phase::kAttention;
  auto form = unary("form", "Relu",
                    [](Edit& e, ValueId x) { return make(e, "Tanh", {x}); });
  auto reads = unary("reads", "Tanh",
                     [](Edit& e, ValueId x) { return make(e, "Abs", {x}); });
  reads.phase = Phase::kTarget;
  Runner r({form, no, reads});
  const std::uint32_t given[] = {0, 1};
  const auto first = make_stages(r.pointers, given);
  const auto second = make_stages(r.pointers);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  Driver driver(w.model, r.pointers, r.options);
  REQUIRE(driver.act(*first).ok());
  CHECK(!driver.has_rewritten());  // only a form, which may be undone
  REQUIRE(driver.act(*second).ok());
  CHECK(driver.has_rewritten());
  const auto rejected = driver.rejected(1);
  REQUIRE(rejected.size() == 1);
  CHECK(rejected[0].graph == &w.graph());
  CHECK(rejected[0].opset == 23);
  REQUIRE(driver.settle().ok());
  CHECK(w.text() == "v0 = Abs(x); y = Neg(v0)");
  const DriverReport report = driver.report();
  REQUIRE(report.rules.size() == 3);
  CHECK(report.rules[0].rewrites == 1);  // needed edits stay
  CHECK(report.rules[1].matches == 1);
  CHECK(report.rules[1].rejected.size() == 1);
}

}  // namespace
}  // namespace ruleengine::rewrite
