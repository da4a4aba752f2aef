#include "core/rewrite/driver.h"

#include <doctest/doctest.h>

#include <memory>

#include "core/rewrite/test_graph.h"
#include "core/verify/verify.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;
using pattern::Builder;
using pattern::Pattern;
using pattern::TermId;
using testing::make;
using testing::TestRule;
using testing::World;
using Match = match::Match;

// Checking the whole graph after each edit makes long chains quadratic.
#ifdef RULEENGINE_CHECK_EDITS
constexpr int kLong = 300;
#else
constexpr int kLong = 20000;
#endif

// type(in0, in1, ...) with variables x, y, ...
Pattern one_node(std::string_view type, int inputs = 1,
                 std::string_view inner = {}) {
  Builder b;
  pattern::NodePattern node;
  node.type = type;
  node.open_attributes = true;
  for (int i = 0; i < inputs; ++i) {
    const std::string name(1, static_cast<char>('x' + i));
    node.inputs.push_back(b.value(b.variable(name, 1), 1));
  }
  if (!inner.empty()) {
    pattern::NodePattern below;
    below.type = inner;
    below.open_attributes = true;
    below.inputs = {node.inputs[0]};
    node.inputs[0] = b.output(*b.node(below), 0);
  }
  b.result(b.output(*b.node(node), 0));
  return *b.finish();
}

ValueId bound(const Match& m, std::size_t i = 0) { return m.bound[i].value; }

// type(x) => build(x)
TestRule::Parts unary(std::string name, std::string type,
                      std::function<ValueId(Edit&, ValueId)> build,
                      std::string inner = {}) {
  return {.name = std::move(name),
          .pattern = [=] { return one_node(type, 1, inner); },
          .rewrite = [=](std::span<const Match* const> ms,
                         Edit& e) -> std::optional<Rejection> {
            e.replace(ms[0]->results[0], build(e, bound(*ms[0])));
            return std::nullopt;
          }};
}

struct Runner {
  explicit Runner(std::vector<TestRule::Parts> parts) {
    for (auto& p : parts) {
      rules.push_back(std::make_unique<TestRule>(std::move(p)));
      pointers.push_back(rules.back().get());
    }
    options.facts = [](ir::Graph& g) {
      return std::make_unique<analysis::Inference>(g);
    };
  }
  Result<Report> run(World& w) {
    auto report = rewrite::run(w.model, pointers, options);
    if (report) CHECK(verify::check_graph(w.graph()).ok());
    return report;
  }

  std::vector<std::unique_ptr<TestRule>> rules;
  std::vector<Rule*> pointers;
  Options options;
};

ValueId chain(World& w, std::string_view op, int length) {
  ValueId v = w.input("x");
  for (int i = 0; i < length; ++i) {
    v = w.node(op, {v}, "v" + std::to_string(i));
  }
  return v;
}

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

TEST_CASE("nothing is touched when nothing matched") {
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

TEST_CASE("a long chain collapses") {
  World w;
  w.output(w.node("Neg", {chain(w, "Identity", kLong)}, "y"));
  Runner r({unary("drop", "Identity", [](Edit&, ValueId x) { return x; })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "y = Neg(x)");
  CHECK(report->rules[0].rewrites == kLong);
}

TEST_CASE("a chain that shrinks pairwise is no rule that feeds itself") {
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

TEST_CASE("so are two rules that undo each other") {
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

TEST_CASE("and a ring of three, each in a phase of its own") {
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

// Elu with an alpha that `next` makes out of the last one; stops where it does
// not.
TestRule::Parts counting(std::function<float(float)> next) {
  TestRule::Parts part = unary("count", "Elu", {});
  part.rewrite = [=](std::span<const Match* const> ms,
                     Edit& e) -> std::optional<Rejection> {
    const ir::Attribute* alpha = e.graph().attribute(ms[0]->root, "alpha");
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

TEST_CASE("what counts is only stopped when it goes on for too long") {
  World w;
  w.output(w.node("Neg", {chain(w, "Elu", 1)}, "y"));
  SUBCASE("to an end") {
    Runner r({counting([](float a) { return a < 5000 ? a + 1 : a; })});
    const auto report = r.run(w);
    REQUIRE(report.ok());
    CHECK(report->rules[0].rewrites == 4999);
  }
  SUBCASE("to none") {
    Runner r({counting([](float a) { return a + 1; })});
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().what ==
          "rule test/count feeds itself without an end in sight");
  }
}

// Takes one Identity away from the input of the root, which stays.
TestRule::Parts peel(std::string name) {
  TestRule::Parts part = unary(std::move(name), "Exp", {}, "Identity");
  part.rewrite = [](std::span<const Match* const> ms,
                    Edit& e) -> std::optional<Rejection> {
    e.replace_input(ms[0]->root, 0, bound(*ms[0]));
    return std::nullopt;
  };
  return part;
}

TEST_CASE("a chain that one root takes in, step by step, is none") {
  World w;
  w.output(w.node("Exp", {chain(w, "Identity", kLong / 2)}, "y"));
  Runner r({peel("peel")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "y = Exp(x)");
}

TEST_CASE("nor are many rounds that come to an end") {
  World w;
  w.output(w.node("Exp", {chain(w, "Identity", 900)}, "y"));
  auto first = peel("first");
  // One at a time: the second phase has to hand the root back.
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

TEST_CASE("and one that grows around a root that stays") {
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

TEST_CASE("and one that adds to what stays") {
  World w;
  const ValueId a = chain(w, "Relu", 1);
  w.output(w.node("Neg", {a}, "y"));
  const auto wrap = [](Edit& e, ValueId x) {
    const ValueId again = make(e, "Relu", {x});  // stands already
    return make(e, "Identity", {make(e, "Identity", {again})});
  };
  Runner r({unary("wrap", "Relu", wrap)});
  const auto report = r.run(w);
  REQUIRE(report.ok());  // what it wants to build stands after the first time
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

TEST_CASE("rejections stand once each, warned of at the fixed point") {
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

TEST_CASE("a result of another shape is rejected, the rest goes on") {
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
  CHECK(report->rules[0].rejected[0].reason == "the result has another shape");
  CHECK(w.text() == "v0 = Relu(x); y = Abs(v0)");
}

TEST_CASE("phases come in order, and again while anything changes") {
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
  SUBCASE("a circle is an error") {
    parts[0].after = {"r"};
    parts[1].after = {"n"};
    Runner r(parts);
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().kind == ErrorKind::kRule);
  }
}

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

// A pass over the first node of that type.
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

TEST_CASE("a pass that shrinks a long chain comes to its end") {
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

TEST_CASE("an endless pass is named, and whoever undoes it") {
  World w;
  w.output(w.node("Neg", {chain(w, "Relu", 1)}, "y"));
  const auto swap_for = [](std::string type) {
    return [=](Edit& e, NodeId n) {
      e.replace(e.graph().output(n), make(e, type, {e.graph().input(n, 0)}));
    };
  };
  // Innocent, and first.
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
  SUBCASE("a pass that grows what it made") {
    Runner r({idle, pass_at("p", "Neg", [](Edit& e, NodeId n) {
                e.replace_input(n, 0, make(e, "Abs", {e.graph().input(n, 0)}));
              })});
    const auto report = r.run(w);
    REQUIRE(!report.ok());
    CHECK(report.error().what == "rule test/p feeds itself for ever");
  }
}

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

TEST_CASE("members that depend on another are left out") {
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

TEST_CASE("the others are still rewritten as one") {
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

TEST_CASE("function bodies are rewritten, uncalled functions go") {
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
  SUBCASE("but not where the caller says so") {
    r.options.skip_function = [](const ir::Function&) { return true; };
    REQUIRE(r.run(w).ok());
    CHECK(World::text_of(w.model.functions[0]->body) == "out = Relu(in)");
  }
  SUBCASE("and the function goes with its last call") {
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

TEST_CASE("find_matches says what the rewrite and its check would reject") {
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
  REQUIRE(find().ok());  // gives the nodes their ranks
  const std::string before = testing::dump(w.graph());
  const auto found = find();
  REQUIRE(found.ok());
  std::string reasons;
  for (const Found& f : *found) {
    REQUIRE(f.rejection);
    reasons += f.rule + ": " + f.rejection->reason + "; ";
  }
  CHECK(reasons ==
        "flat: the result has another type; r: no; "
        "flat: the result has another type; r: no; "
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

}  // namespace
}  // namespace ruleengine::rewrite
