#include "core/match/machine.h"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/parse.h"
#include "tests/support/match_draft.h"

// Many rules at once, masks, limits and large graphs.
namespace ruleengine::match {
namespace {

TEST_CASE("many rules at once, masks, and limits") {
  std::vector<Pattern> patterns;
  std::vector<const Pattern*> pointers;
  for (int i = 0; i < 40; ++i) {
    Draft d;
    const TermId scaled = d.op("Mul", {d.v("x"), d.num(i)});
    auto made = d.done({d.op(i % 2 ? "Relu" : "Neg", {scaled})});
    REQUIRE(made.ok());
    patterns.push_back(std::move(*made));
  }
  for (const Pattern& p : patterns) pointers.push_back(&p);
  auto model = text::parse_model(R"((float[2] a) => (float[2] y)
      <float c = {7.0}> {
    m = Mul(c, a)
    y = Relu(m)
  })");
  REQUIRE(model.ok());
  ir::Graph& graph = (*model)->graph;
  DeclaredFacts facts(graph);
  const Program program = compile(pointers);
  Machine machine(program, graph, facts);
  std::vector<Match> found;
  CHECK_FALSE(machine.may_match(ir::NodeId(0u)));
  CHECK(machine.may_match(ir::NodeId(1u)));
  machine.run(ir::NodeId(1u), {}, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == 7);
  RuleMask mask(40, true);
  mask[7] = false;
  machine.run(ir::NodeId(1u), mask, found);
  CHECK(found.size() == 1);
  CHECK(machine.exhausted() == std::nullopt);
}

TEST_CASE("matches find an op that an edit added at any depth") {
  Draft d;
  auto pattern = d.done({d.op("Neg", {d.op("Exp", {d.v("x")})})});
  REQUIRE(pattern.ok());
  const Pattern* one[] = {&*pattern};
  const Program program = compile(one);
  ir::Model model;
  model.import_opset("", 21);
  ir::Graph& graph = model.graph;
  const ir::BlockId main = ir::Graph::main_block();
  const auto value = [&](const char* name, ir::ValueKind kind) {
    return graph.add_value(model.names.intern(name), main, kind);
  };
  const auto node = [&](const char* op, ir::ValueId from, ir::ValueId to) {
    return graph.add_node(model.ops.intern("", op), main, "", {&from, 1},
                          {&to, 1}, {});
  };
  const ir::ValueId a = value("a", ir::ValueKind::kInput);
  const ir::ValueId e = value("e", ir::ValueKind::kUndefined);
  const ir::ValueId y = value("y", ir::ValueKind::kUndefined);
  const ir::NodeId root = node("Neg", a, y);
  graph.add_block_output(main, y);
  DeclaredFacts facts(graph);
  Machine machine(program, graph, facts);
  std::vector<Match> found;
  machine.run(root, {}, found);
  CHECK(found.empty());
  node("Exp", a, e);
  graph.set_operand(ir::OperandId(graph.node(root).first_operand), e);
  machine.run(root, {}, found);
  CHECK(found.size() == 1);
}

TEST_CASE("dispatch by a number has the tolerance of the test") {
  std::vector<Pattern> patterns;
  std::vector<const Pattern*> pointers;
  for (double number : {1.0, 1.41421356, 1.5, 2.1, 2.10001}) {
    Draft d;
    auto made = d.done({d.op("Mul", {d.v("x"), d.num(number)})});
    REQUIRE(made.ok());
    patterns.push_back(std::move(*made));
  }
  for (const Pattern& p : patterns) pointers.push_back(&p);
  auto model = text::parse_model(R"((float[2] a) => (float[2] y, float[2] z)
      <float c = {1.4142135}, float d = {2.100005}> {
    y = Mul(a, c)
    z = Mul(a, d)
  })");
  REQUIRE(model.ok());
  DeclaredFacts facts((*model)->graph);
  const Program program = compile(pointers);
  Machine machine(program, (*model)->graph, facts);
  std::vector<Match> found;
  machine.run(ir::NodeId(0u), {}, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == 1);
  machine.run(ir::NodeId(1u), {}, found);
  REQUIRE(found.size() == 3);
  CHECK(found[1].rule == 3);
  CHECK(found[2].rule == 4);
}

TEST_CASE("infinity only matches itself") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<Pattern> patterns;
  std::vector<const Pattern*> pointers;
  for (double number : {1.0, -kInfinity, kInfinity, -1e38}) {
    Draft d;
    auto made = d.done({d.op("Mul", {d.v("x"), d.num(number)})});
    REQUIRE(made.ok());
    patterns.push_back(std::move(*made));
  }
  for (const Pattern& p : patterns) pointers.push_back(&p);
  auto model = text::parse_model(R"((float[2] a) => (float[2] y)
      <float c = {-inf}> {
    y = Mul(a, c)
  })");
  REQUIRE(model.ok());
  DeclaredFacts facts((*model)->graph);
  // All rules together, and each alone.
  std::vector<Match> found;
  const Program all = compile(pointers);
  Machine(all, (*model)->graph, facts).run(ir::NodeId(0u), {}, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == 1);
  for (const Pattern* one : pointers) {
    found.clear();
    const Program program = compile({&one, 1});
    Machine(program, (*model)->graph, facts).run(ir::NodeId(0u), {}, found);
    CHECK(found.size() == (one == pointers[1] ? 1 : 0));
  }
}

TEST_CASE("an endless search is cut, and the other rules continue") {
  Draft d;
  // Sums in any order, and at the end an op that does not exist.
  TermId x = d.num(3);
  for (int i = 0; i < 18; ++i) {
    x = d.op("Add", {d.v("v" + std::to_string(i)), x});
  }
  auto slow = d.done({d.op("Neg", {x})});
  Draft e;
  auto quick = e.done({e.op("Neg", {e.v("x")})});
  REQUIRE(slow.ok());
  REQUIRE(quick.ok());
  ir::Model model;
  model.import_opset("", 21);
  ir::Graph& graph = model.graph;
  const ir::BlockId main = ir::Graph::main_block();
  ir::ValueId last =
      graph.add_value(model.names.intern("a"), main, ir::ValueKind::kInput);
  const auto node = [&](const char* op, std::vector<ir::ValueId> inputs) {
    last = graph.add_value(model.names.intern("v"), main,
                           ir::ValueKind::kUndefined);
    return graph.add_node(model.ops.intern("", op), main, "", inputs,
                          {&last, 1}, {});
  };
  for (int i = 0; i < 18; ++i) node("Add", {last, last});
  const ir::NodeId root = node("Neg", {last});
  graph.add_block_output(main, last);
  DeclaredFacts facts(graph);
  const Pattern* both[] = {&*slow, &*quick};
  const Program program = compile(both);
  Machine machine(program, graph, facts);
  machine.set_limit(1000);
  std::vector<Match> found;
  machine.run(root, {}, found);
  REQUIRE(machine.exhausted().has_value());
  CHECK(machine.exhausted()->rule == 0);
  CHECK(machine.exhausted()->root == root);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == 1);
}

TEST_CASE("a long chain needs little stack, many readers need little time") {
  ir::Model model;
  model.import_opset("", 21);
  ir::Graph& graph = model.graph;
  const ir::BlockId main = ir::Graph::main_block();
  const ir::ValueId a =
      graph.add_value(model.names.intern("a"), main, ir::ValueKind::kInput);
  const auto node = [&](const char* op, std::vector<ir::ValueId> inputs) {
    const ir::ValueId out = graph.add_value(model.names.intern("v"), main,
                                            ir::ValueKind::kUndefined);
    graph.add_node(model.ops.intern("", op), main, "", inputs, {&out, 1}, {});
    return out;
  };
  constexpr int kLength = 100'000;
  ir::ValueId x = a;
  for (int i = 0; i < kLength; ++i) x = node("Relu", {x});
  x = node("Neg", {x});
  graph.add_block_output(main, x);
  const ir::NodeId root = graph.producer(x);
  for (int i = 0; i < 10'000; ++i) {
    graph.add_block_output(main, node("MatMul", {a, a}));
  }
  Draft d;
  const TermId step = d.op("Relu", {d.hole()}, {}, "r");
  auto chain = d.done({d.op("Neg", {d.many(step, d.v("x"), 1)})});
  Draft e;
  const TermId shared = e.v("x");
  auto siblings = e.done({e.op("MatMul", {shared, e.v("a")}),
                          e.op("MatMul", {shared, e.v("b")}),
                          e.op("MatMul", {shared, e.v("c")})});
  REQUIRE(chain.ok());
  REQUIRE(siblings.ok());
  DeclaredFacts facts(graph);
  const Pattern* both[] = {&*chain, &*siblings};
  const Program program = compile(both);
  Machine machine(program, graph, facts);
  std::vector<Match> found;
  machine.run(root, {}, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].consumed.size() == kLength + 1);
  const std::optional<Match> expected = naive_match(*chain, graph, facts, root);
  REQUIRE(expected.has_value());
  CHECK(found[0] == *expected);
  found.clear();
  for (std::size_t n = 0; n < graph.node_count(); ++n) {
    machine.run(ir::NodeId(n), {false, true}, found);
  }
  CHECK(found.size() == 10'000);
  CHECK(machine.exhausted() == std::nullopt);
}

}  // namespace
}  // namespace ruleengine::match
