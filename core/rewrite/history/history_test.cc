#include "core/rewrite/history/history.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/rewrite/functions.h"
#include "core/text/parse.h"
#include "tests/support/rewrite_driver.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;
using testing::bound;
using testing::chain;
using testing::fuses;
using testing::make;
using testing::Match;
using testing::one_node;
using testing::rewrites;
using testing::Runner;
using testing::skips;
using testing::spells;
using testing::TestRule;
using testing::unary;
using testing::World;

using Parts = TestRule::Parts;

// outer(x, x) => to(x): the same value twice.
Parts fuses_twins(const std::string& outer, const std::string& to) {
  Parts parts = unary("twins", outer,
                      [=](Edit& e, ValueId x) { return make(e, to, {x}); });
  parts.phase = Phase::kAttention;
  parts.pattern = [=] {
    pattern::Builder b;
    const auto x = b.value(b.variable("x", 1), 1);
    pattern::NodePattern node;
    node.type = outer;
    node.inputs = {x, x};
    b.result(b.output(*b.node(node), 0));
    return *b.finish();
  };
  return parts;
}

// type(x) => a value that `other` finds outside of the match.
Parts takes(const std::string& type,
            const std::function<ValueId(Edit&)>& other) {
  Parts parts =
      unary("takes", type, [=](Edit& e, ValueId) { return other(e); });
  parts.phase = Phase::kAttention;
  return parts;
}

TEST_CASE("settling checks the deadline") {
  World w;
  w.output(chain(w, "Relu", 2));
  Workspace workspace(w.graph());
  analysis::Inference facts(w.graph());
  History history(w.graph(), facts, workspace);
  workspace.set_history(&history);
  for (const bool canonical : {true, false}) {
    history.set_kind(canonical);
    Edit edit(w.graph(), facts, {}, &workspace);
    const ValueId v = w.find(canonical ? "v0" : "v1");
    edit.replace(v, make(edit, "Tanh", {w.find(canonical ? "x" : "v0")}));
    REQUIRE(!edit.commit());
    history.sign(0, {}, canonical ? 1 : 2);
  }
  const auto settled = history.settle(Deadline(0.0));
  REQUIRE(!settled.ok());
  CHECK(settled.error().kind == ErrorKind::kLimit);
}

// The state of a graph, without tombstones and numbering.
std::string bits(World& w) {
  std::string all = w.text();
  for (std::size_t i = 0; i < w.graph().node_count(); ++i) {
    const ir::Node& n = w.graph().node(NodeId(i));
    if (n.removed) continue;
    all += "\n" + std::string(n.name) + " " + std::to_string(n.metadata.size());
  }
  for (std::size_t i = 0; i < w.graph().block_count(); ++i) {
    const ir::Block& b = w.graph().block(ir::BlockId(i));
    all += "\n" + std::to_string(b.changed);
    for (ValueId v : b.outputs) all += " " + std::string(w.graph().name(v));
    for (ValueId v : b.initializers) {
      all += " " + std::string(w.graph().name(v));
    }
  }
  return all;
}

TEST_CASE("a run of canonical rules only keeps their edits") {
  World w;
  w.output(w.node("Abs", {w.input("x")}, "y"));
  Runner r({spells("Abs", "Tanh")});
  REQUIRE(r.run(w).ok());
  CHECK(w.text() == "y = Tanh(x)");
}

TEST_CASE("if nothing else fires, the model is unchanged") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Abs", {x}, "a");
  w.output(w.node("Neg", {w.node("Identity", {a}, "b")}, "y"));
  w.output(w.node("Identity", {w.node("Abs", {a}, "c")}, "z"));
  const std::string before = bits(w);
  Runner r({spells("Abs", "Tanh"), fuses("Relu", "Tanh", "Sqrt")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(bits(w) == before);
  CHECK(!w.model.changed);
  CHECK(w.model.ir_version == 8);
  const RuleReport& spelling = report->rules[0];
  CHECK(spelling.rewrites == 0);
  CHECK(spelling.matches == 2);
  REQUIRE(spelling.rejected.size() == 2);
  CHECK(spelling.rejected[0].node == "n_a");
  CHECK(spelling.rejected[0].reason == "no other rule needed it");
}

TEST_CASE("an option keeps them") {
  World w;
  w.output(w.node("Abs", {w.input("x")}, "y"));
  Runner r({spells("Abs", "Tanh"), fuses("Relu", "Tanh", "Sqrt")});
  r.options.keep_all = true;
  REQUIRE(r.run(w).ok());
  CHECK(w.text() == "y = Tanh(x)");
}

TEST_CASE("a form that a match consumes stays, another one is undone") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Relu", {w.node("Abs", {x}, "a")}, "y"));
  w.output(w.node("Neg", {w.node("Abs", {w.node("Neg", {x}, "n")}, "b")}, "z"));
  Runner r({spells("Abs", "Tanh"), fuses("Relu", "Tanh", "Sqrt")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "n = Neg(x); b = Abs(n); z = Neg(b); y = Sqrt(x)");
  CHECK(w.graph().node(w.maker("b")).name == "n_b");
  CHECK(rewrites(*report, "Abs") == 1);
  CHECK(rewrites(*report, "fuses") == 1);
  CHECK(report->rules[0].rejected.size() == 1);
}

TEST_CASE("the needed part of a chain of forms stays") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Relu", {w.node("Abs", {x}, "a")}, "y"));
  w.output(w.node("Neg", {w.node("Abs", {w.input("v")}, "b")}, "z"));
  Runner r({spells("Abs", "Tanh"), spells("Tanh", "Sigmoid"),
            spells("Neg", "Erf"), fuses("Relu", "Sigmoid", "Sqrt")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "b = Abs(v); z = Neg(b); y = Sqrt(x)");
  CHECK(rewrites(*report, "Abs") == 1);
  CHECK(rewrites(*report, "Tanh") == 1);
  CHECK(rewrites(*report, "Neg") == 0);
}

TEST_CASE("an edge inside of a match is needed, one at its border is not") {
  World w;
  const ValueId i = w.node("Abs", {w.input("x")}, "i");
  const ValueId t = w.node("Tanh", {i}, "t");
  w.output(w.node("Relu", {w.node("Identity", {t}, "j")}, "y"));
  Runner r({skips(), spells("Abs", "Cos"), fuses("Relu", "Tanh", "Sqrt")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "i = Abs(x); y = Sqrt(i)");
  CHECK(rewrites(*report, "Identity") == 1);
  CHECK(rewrites(*report, "Abs") == 0);
}

TEST_CASE("a value that is matched twice is one value") {
  World w;
  const ValueId x = w.input("x");
  SUBCASE("which a form made of two") {
    w.output(w.node("Add", {x, w.node("Identity", {x}, "i")}, "y"));
    Runner r({skips(), fuses_twins("Add", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() == "y = Sqrt(x)");
  }
  SUBCASE("which it was before, too") {
    const ValueId i = w.node("Abs", {x}, "i");
    w.output(w.node("Add", {i, i}, "y"));
    Runner r({spells("Abs", "Cos"), fuses_twins("Add", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() == "i = Abs(x); y = Sqrt(i)");
  }
}

TEST_CASE("removing a reader inside of a match is needed") {
  World w;
  const ValueId x = w.input("x");
  const ValueId t = w.node("Tanh", {x}, "t");
  w.output(w.node("Relu", {t}, "y"));
  w.output(w.node("Abs", {t}, "z"));
  Parts reads_less = unary(
      "less", "Abs", [](Edit& e, ValueId v) { return make(e, "Erf", {v}); },
      "Tanh");
  Runner r({reads_less, fuses("Relu", "Tanh", "Sqrt")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(rewrites(*report, "less") == 0);  // a Tanh with another reader
  CHECK(rewrites(*report, "fuses") == 0);
  CHECK(w.text() == "t = Tanh(x); y = Relu(t); z = Abs(t)");
  reads_less.pattern = [] { return one_node("Abs"); };
  reads_less.where = [](const Match& m, ir::Graph& g) {
    return g.producer(bound(m)) ? std::nullopt
                                : std::optional(Rejection{"an input", ""});
  };
  reads_less.rewrite = [](std::span<const Match* const> ms, Edit& e) {
    const ValueId above = e.graph().input(e.graph().producer(bound(*ms[0])), 0);
    e.replace(ms[0]->results[0], make(e, "Erf", {above}));
    return std::optional<Rejection>();
  };
  Runner s({reads_less, fuses("Relu", "Tanh", "Sqrt")});
  const auto again = s.run(w);
  REQUIRE(again.ok());
  CHECK(rewrites(*again, "less") == 1);
  CHECK(w.text() == "z = Erf(x); y = Sqrt(x)");
}

TEST_CASE("names and outputs are those of the kept edits") {
  World w;
  const ValueId x = w.input("x");
  const ValueId t = w.node("Tanh", {x}, "t");
  w.output(w.node("Abs", {t}, "y"));
  Runner r({spells("Abs", "Cos"), fuses("Tanh", "", "Sqrt")});
  REQUIRE(r.run(w).ok());
  CHECK(w.text() == "t = Sqrt(x); y = Abs(t)");
  CHECK(w.graph().name(w.graph().block(ir::Graph::main_block()).outputs[0]) ==
        "y");
  REQUIRE(w.graph().node(w.maker("t")).metadata.size() == 2);
  CHECK(w.graph().node(w.maker("t")).metadata[0].value == "test/fuses");
  CHECK(w.graph().node(w.maker("t")).metadata[1].value == "n_t");
  CHECK(w.graph().node(w.maker("y")).metadata.empty());
  CHECK(w.model.ir_version == 10);
  CHECK(w.model.changed);
}

// Abs(x) => Add(x, c): one constant for all.
Parts adds(World& w) {
  const ir::Literal* c = w.tensor({1}, {1});
  return unary("Abs", "Abs", [=](Edit& e, ValueId x) {
    return make(e, "Add", {x, e.constant(c, "one")});
  });
}

TEST_CASE("a constant stays with one of its readers") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Neg", {w.node("Abs", {w.node("Neg", {x}, "n")}, "a")}, "z"));
  SUBCASE("no one") {
    Runner r({adds(w), fuses("Relu", "Neg", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.graph().block(ir::Graph::main_block()).initializers.empty());
    CHECK(w.text() == "n = Neg(x); a = Abs(n); z = Neg(a)");
  }
  SUBCASE("the second") {
    w.output(w.node("Sqrt", {w.node("Abs", {x}, "b")}, "y"));
    Parts keeps = fuses("Sqrt", "", "Erf");
    keeps.pattern = [] {
      pattern::Builder b;
      pattern::NodePattern add, root;
      add.type = "Add";
      add.inputs = {b.value(b.variable("x", 1), 1),
                    b.value(b.variable("y", 1), 1)};
      root.type = "Sqrt";
      root.inputs = {b.context(b.output(*b.node(add), 0), 1)};
      b.result(b.output(*b.node(root), 0));
      return *b.finish();
    };
    keeps.rewrite = [](std::span<const Match* const> ms, Edit& e) {
      const ValueId sum = e.graph().input(ms[0]->root, 0);
      e.replace(ms[0]->results[0], make(e, "Erf", {sum}));
      return std::optional<Rejection>();
    };
    Runner r({adds(w), keeps});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() ==
          "n = Neg(x); a = Abs(n); z = Neg(a); b = Add(x, one); y = Erf(b)");
    CHECK(w.graph().block(ir::Graph::main_block()).initializers.size() == 1);
  }
}

TEST_CASE("a reused node is built by the first kept edit") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Neg", {w.node("Abs", {x}, "a")}, "z"));
  w.output(w.node("Relu", {w.node("Ceil", {x}, "b")}, "y"));
  const auto over_sine = [](const std::string& from, const std::string& to) {
    return unary(from, from, [=](Edit& e, ValueId v) {
      return make(e, to, {make(e, "Sin", {v})});
    });
  };
  Runner r({over_sine("Abs", "Tanh"), over_sine("Ceil", "Floor"),
            fuses("Relu", "Floor", "Sqrt")});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(rewrites(*report, "Abs") == 0);
  CHECK(rewrites(*report, "Ceil") == 1);
  CHECK(w.text() ==
        "a = Abs(x); z = Neg(a); Sin_output = Sin(x); "
        "y = Sqrt(Sin_output)");
}

TEST_CASE("a form that an edit found outside of its match stays") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Neg", {w.node("Abs", {x}, "a")}, "z"));
  w.output(w.node("Erf", {w.node("Relu", {x}, "r")}, "y"));
  Runner r({spells("Abs", "Tanh"),
            takes("Relu", [&](Edit&) { return w.find("a"); })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(rewrites(*report, "Abs") == 1);
  CHECK(w.text() == "a = Tanh(x); z = Neg(a); y = Erf(a)");
}

TEST_CASE("a form of a needed form is not itself needed") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Neg", {w.node("Abs", {x}, "a")}, "z"));
  w.output(w.node("Erf", {w.node("Relu", {x}, "r")}, "y"));
  const Parts over_sine = unary("Abs", "Abs", [](Edit& e, ValueId v) {
    return make(e, "Tanh", {make(e, "Sin", {v})});
  });
  Runner r({over_sine, spells("Tanh", "Sigmoid"), takes("Relu", [&](Edit& e) {
              return make(e, "Sqrt", {e.graph().input(w.maker("a"), 0)});
            })});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(rewrites(*report, "Abs") == 1);
  CHECK(rewrites(*report, "Tanh") == 0);
  CHECK(w.text() ==
        "Sin_output = Sin(x); a = Tanh(Sin_output); z = Neg(a); "
        "r = Sqrt(Sin_output); y = Erf(r)");
}

TEST_CASE(
    "a form that shrinks the graph with the result of a needed one stays") {
  World w;
  const ValueId x = w.input("x");
  const ValueId t = w.node("Tanh", {x}, "t");
  w.output(w.node("Exp", {w.node("Relu", {t}, "r")}, "y"));
  w.output(w.node("Neg", {w.node("Abs", {t}, "a")}, "z"));
  // It takes a reader from the Tanh that the next one consumes, and makes what
  // that one takes.
  Parts beside = unary("beside", "Abs", [](Edit& e, ValueId v) {
    return make(e, "Erf", {e.graph().input(e.graph().producer(v), 0)});
  });
  Parts shrinks = unary(
      "shrinks", "Relu", [&](Edit&, ValueId) { return w.find("a"); }, "Tanh");
  Parts needs = fuses("Neg", "", "Sqrt");
  needs.pattern = [] {
    pattern::Builder b;
    pattern::NodePattern erf, root;
    erf.type = "Erf";
    erf.inputs = {b.value(b.variable("x", 1), 1)};
    root.type = "Neg";
    root.inputs = {b.context(b.output(*b.node(erf), 0), 1)};
    b.result(b.output(*b.node(root), 0));
    return *b.finish();
  };
  needs.rewrite = [](std::span<const Match* const> ms, Edit& e) {
    const ValueId erf = e.graph().input(ms[0]->root, 0);
    e.replace(ms[0]->results[0], make(e, "Sqrt", {erf}));
    return std::optional<Rejection>();
  };
  Runner r({beside, shrinks, needs});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(rewrites(*report, "beside") == 1);
  CHECK(rewrites(*report, "shrinks") == 1);
  CHECK(w.text() == "a = Erf(x); y = Exp(a); z = Sqrt(a)");
}

TEST_CASE("canonical rules simplify results of other rules") {
  World w;
  const ValueId x = w.input("x");
  SUBCASE("a form of it") {
    w.output(w.node("Relu", {x}, "y"));
    Runner r({spells("Sqrt", "Erf"), fuses("Relu", "", "Sqrt")});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() == "y = Erf(x)");
  }
  SUBCASE("and its neighbours") {
    w.output(w.node("Neg", {w.node("Identity", {x}, "i")}, "z"));
    w.output(w.node("Neg", {w.node("Relu", {x}, "r")}, "y"));
    Runner r({skips(), fuses("Relu", "", "Identity")});
    REQUIRE(r.run(w).ok());
    CHECK(w.text() == "z = Neg(x); y = Neg(x)");
  }
}

TEST_CASE("an edit that cannot be replayed without others keeps them") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Abs", {x}, "a");
  const ValueId r = w.node("Neg", {a}, "r");
  w.output(w.node("Add", {a, r}, "y"));
  Parts higher = unary("Neg", "Neg", [](Edit&, ValueId v) { return v; });
  higher.where = [](const Match& m, ir::Graph& g) {
    return g.producer(bound(m)) ? std::nullopt
                                : std::optional(Rejection{"an input", ""});
  };
  higher.rewrite = [](std::span<const Match* const> ms, Edit& e) {
    const ValueId above = e.graph().input(e.graph().producer(bound(*ms[0])), 0);
    e.replace_input(ms[0]->root, 0, above);
    return std::optional<Rejection>();
  };
  Parts walks = fuses("Abs", "", "Max");
  walks.rewrite = [&](std::span<const Match* const> ms, Edit& e) {
    e.replace(ms[0]->results[0], make(e, "Max", {bound(*ms[0]), w.find("r")}));
    return std::optional<Rejection>();
  };
  Runner run({higher, walks});
  const auto report = run.run(w);
  REQUIRE(report.ok());
  CHECK(w.text() == "r = Neg(x); a = Max(x, r); y = Add(a, r)");
  CHECK(rewrites(*report, "Neg") == 1);
}

TEST_CASE("the edits of a pass are kept, with the forms around them") {
  World w;
  const ValueId i = w.node("Abs", {w.input("x")}, "i");
  w.output(w.node("Relu", {w.node("Abs", {i}, "j")}, "y"));
  w.output(w.node("Abs", {w.node("Neg", {i}, "n")}, "z"));
  Parts pass{.name = "pass", .phase = Phase::kParallel};
  pass.pass = [](Edit& e) {
    for (std::size_t k = 0; k < e.graph().node_count(); ++k) {
      const NodeId n(k);
      if (e.graph().node(n).removed || !e.graph().op(n).standard("Relu")) {
        continue;
      }
      e.replace(e.graph().output(n), make(e, "Sqrt", {e.graph().input(n, 0)}));
      return true;
    }
    return false;
  };
  Runner r({spells("Abs", "Cos"), pass});
  const auto report = r.run(w);
  REQUIRE(report.ok());
  CHECK(rewrites(*report, "pass") == 1);
  CHECK(w.text() ==
        "i = Abs(x); n = Neg(i); z = Abs(n); j = Cos(i); y = Sqrt(j)");
}

struct Text {
  explicit Text(const std::string& text) {
    auto parsed = text::parse_model(text, "model");
    if (!parsed.ok()) FAIL(parsed.error().text());
    model = std::move(*parsed);
  }
  std::string of(const ir::Graph& graph) {
    return World::text_of(const_cast<ir::Graph&>(graph));
  }
  std::unique_ptr<ir::Model> model;
};

TEST_CASE("bodies of nodes and of functions") {
  Text m(R"(
<ir_version: 10, opset_import: ["" : 17, "my" : 1]>
main (float[2] x, bool c) => (float[2] y) {
  a = my.F(x)
  y = If (c) <
    then_branch = t () => (float[2] u) { p = Abs(a) u = Relu(p) },
    else_branch = e () => (float[2] v) { q = Abs(a) v = Neg(q) }
  >
}
<domain: "my", opset_import: ["" : 17]>
F (x) => (y) { p = Abs(x) y = Neg(p) })");
  const std::string body = m.of(m.model->functions[0]->body);
  Runner r({spells("Abs", "Tanh"), fuses("Relu", "Tanh", "Sqrt")});
  const auto report = run(*m.model, r.pointers, r.options);
  REQUIRE(report.ok());
  CHECK(m.of(m.model->functions[0]->body) == body);
  CHECK(m.of(m.model->graph) ==
        "a = my::F(x); u = Sqrt(a); q = Abs(a); v = Neg(q); y = If(c)");
  CHECK(rewrites(*report, "Abs") == 1);
  CHECK(m.model->graph.block(ir::Graph::main_block()).changed);
}

}  // namespace
}  // namespace ruleengine::rewrite
