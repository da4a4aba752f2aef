#include "core/pattern/pattern.h"
#include "tests/support/pattern_text.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ruleengine::pattern {
namespace {

using Kind = AttributePattern::Kind;

// A Builder with short names; lines are counted.
struct Draft : Builder {
  VariableId name(std::string_view n) { return variable(n, line); }
  TermId v(std::string_view n) { return value(name(n), line); }
  TermId num(double n) { return numbers({n}, true); }
  NodePattern plain(std::string type, std::vector<TermId> inputs) {
    NodePattern p;
    p.type = std::move(type);
    p.inputs = std::move(inputs);
    p.line = ++line;
    return p;
  }
  NodePatternId made(NodePattern p) {
    Result<NodePatternId> id = node(std::move(p));
    if (id.ok()) return *id;
    if (error.empty()) error = id.error().text();
    return NodePatternId();
  }
  TermId op(std::string type, std::vector<TermId> inputs,
            std::string_view tag = "") {
    NodePattern p = plain(std::move(type), std::move(inputs));
    if (!tag.empty()) p.tags = {name(tag)};
    const NodePatternId id = made(std::move(p));
    return id ? output(id, 0) : any();
  }
  TermId attribute(std::string type, std::vector<TermId> inputs,
                   AttributePattern a) {
    NodePattern p = plain(std::move(type), std::move(inputs));
    p.attributes = {std::move(a)};
    const NodePatternId id = made(std::move(p));
    return id ? output(id, 0) : any();
  }
  TermId either_of(std::vector<TermId> all) {
    std::vector<Alternative> alternatives;
    for (TermId t : all) alternatives.push_back({t, {}, {}});
    return either(std::move(alternatives), ++line);
  }
  FactId rank(TermId subject, std::int64_t number) {
    Fact f;
    f.kind = Fact::Kind::kRank;
    f.subject = subject;
    f.number = number;
    f.line = ++line;
    return fact(std::move(f));
  }
  FactId shape(TermId subject, std::vector<std::string> letters) {
    Fact f;
    f.subject = subject;
    f.has_dims = true;
    f.line = ++line;
    for (const std::string& letter : letters) {
      f.dims.push_back({Fact::DimPattern::Kind::kLetter, name(letter), 0});
    }
    return fact(std::move(f));
  }

  int line = 0;
  std::string error;  // the first of node()
};

// The error of finish(), or of a call before it.
std::string refusal(const std::function<void(Draft&)>& build) {
  Draft d;
  build(d);
  if (!d.error.empty()) return d.error;
  Result<Pattern> made = d.finish();
  return made.ok() ? "accepted" : made.error().text();
}

TEST_CASE("a pattern that cannot match is refused, with its line") {
  struct Row {
    const char* expected;  // part of the diagnostic
    std::function<void(Draft&)> build;
  };
  const Row rows[] = {
      {"`match` returns nothing", [](Draft&) {}},
      {"did you mean 'Softmax'",
       [](Draft& d) { d.result(d.op("Sofmax", {d.v("x")})); }},
      {"wrong number of inputs of MatMul\n  where:    line 1\n  expected: 2\n  "
       "found:    3",
       [](Draft& d) {
         d.result(d.op("MatMul", {d.v("x"), d.v("y"), d.v("z")}));
       }},
      {"wrong number of inputs of Gemm\n  where:    line 1\n  expected: 2 to "
       "3\n  found:    1",
       [](Draft& d) { d.result(d.op("Gemm", {d.v("x")})); }},
      {"no op 'elementwise_unari'\n  where:    line 1\n  hint:     did you "
       "mean "
       "'elementwise_unary'",
       [](Draft& d) { d.result(d.op("elementwise_unari", {d.v("x")})); }},
      {"wrong number of inputs of elementwise_unary",
       [](Draft& d) {
         d.result(d.op("elementwise_unary", {d.v("x"), d.v("y")}));
       }},
      {"not every op of elementwise_unary has an attribute 'alpha'",
       [](Draft& d) {
         d.result(
             d.attribute("elementwise_unary", {d.v("x")}, {.name = "alpha"}));
       }},
      {"attribute 'keepdims' of reduction must be an integer",
       [](Draft& d) {
         d.result(d.attribute("reduction", {d.v("x")},
                              {.name = "keepdims", .kind = Kind::kString}));
       }},
      {"Softmax has no attribute 'axes'",
       [](Draft& d) {
         d.result(d.attribute("Softmax", {d.v("x")}, {.name = "axes"}));
       }},
      {"attribute 'axis' of Softmax must be an integer",
       [](Draft& d) {
         d.result(d.attribute("Softmax", {d.v("x")},
                              {.name = "axis", .kind = Kind::kString}));
       }},
      {"attribute 'to' is required",
       [](Draft& d) { d.result(d.op("Cast", {d.v("x")})); }},
      {"a result of `match` can be a bare variable\n  where:    line 2",
       [](Draft& d) {
         d.result(d.either_of({d.op("Relu", {d.v("x")}), d.v("x")}));
       }},
      {"this Relu is not part of the pattern\n  where:    line 1",
       [](Draft& d) {
         d.op("Relu", {d.v("x")});
         d.result(d.op("Neg", {d.v("x")}));
       }},
      {"results of `match` without a common value",
       [](Draft& d) {
         d.result(d.op("Relu", {d.v("x")}));
         d.result(d.op("Neg", {d.v("y")}));
       }},
      {"returns the same value twice",
       [](Draft& d) {
         d.result(d.op("Relu", {d.v("x")}));
         d.result(d.op("Relu", {d.v("x")}));
       }},
      {"a condition that names nothing of the match",
       [](Draft& d) {
         d.result(d.op("Relu", {d.v("x")}));
         d.condition(d.never(d.op("Neg", {d.v("y")}), 9));
       }},
      {"an alternative that is never reached",
       [](Draft& d) {
         d.result(
             d.op("Relu", {d.either_of({d.v("x"), d.op("Neg", {d.v("y")})})}));
       }},
      {"'t' names two nodes on one path",
       [](Draft& d) {
         d.result(d.op("Relu", {d.op("Neg", {d.v("x")}, "t")}, "t"));
       }},
      {"'x' stands for two different things\n  where:    line 1\n"
       "  expected: a value\n  found:    an attribute or a dimension",
       [](Draft& d) {
         d.result(d.attribute("Softmax", {d.v("x")},
                              {.name = "axis",
                               .kind = Kind::kVariable,
                               .variable = d.name("x")}));
       }},
      {"'x' cannot name a node\n  where:    line 1\n"
       "  found:    it stands for a value",
       [](Draft& d) { d.result(d.op("Relu", {d.v("x")}, "x")); }},
      {"a permutation of Sub does not fit its inputs\n  where:    line 1\n"
       "  expected: a different input slot for each written input",
       [](Draft& d) {
         NodePattern p = d.plain("Sub", {d.v("x"), d.v("y")});
         p.permutations = {{1, 1}};
         d.made(p);
       }},
      {"`rest` is not the last input",
       [](Draft& d) {
         d.result(d.op("Concat", {d.rest(VariableId(), 1), d.v("x")}));
       }},
      {"a step of `many` that leads nowhere",
       [](Draft& d) {
         const TermId h = d.hole();
         const TermId step = d.either_of({d.op("Relu", {h}), h});
         d.result(d.op("Neg", {d.many(step, d.v("x"), 7)}));
       }},
      {"a step of `many` that leads nowhere",
       [](Draft& d) {
         d.hole();
         const TermId step = d.op("Relu", {d.v("y")});
         d.result(d.op("Neg", {d.many(step, d.v("x"), 7)}));
       }},
      {"used outside of it",
       [](Draft& d) { d.result(d.op("Neg", {d.hole()})); }},
      {"a fact that contradicts another of the same value\n  where:    line 3",
       [](Draft& d) {
         d.result(d.op("Neg", {d.v("x")}));
         d.global_fact(d.rank(d.v("x"), 3));
         d.global_fact(d.shape(d.v("x"), {"B", "S"}));
       }},
      {"a fact about something without a name",
       [](Draft& d) {
         d.result(d.op("Neg", {d.any()}));
         d.global_fact(d.rank(d.any(), 3));
       }},
      {"only a variable can be transposed",
       [](Draft& d) { d.result(d.op("Neg", {d.transpose(d.num(1), 1)})); }},
      {"nested at most",
       [](Draft& d) {
         TermId x = d.v("x");
         for (int i = 0; i < 1100; ++i) x = d.op("Relu", {x});
         d.result(x);
       }},
  };
  for (const Row& row : rows) {
    const std::string found = refusal(row.build);
    CAPTURE(found);
    CHECK(found.find(row.expected) != std::string::npos);
  }
}

TEST_CASE("the same pattern written twice is one node") {
  Draft d;
  const TermId a = d.op("Relu", {d.v("x")});
  const TermId b = d.op("Relu", {d.v("x")});
  CHECK(a == b);
  CHECK(d.op("Relu", {d.v("y")}) != a);
  CHECK(d.num(1) == d.num(1));
  CHECK(d.num(1) != d.numbers({1}, false));
  CHECK(d.rank(a, 2) == d.rank(a, 2));
  // Tags and lines are not part of a node's identity.
  CHECK(d.op("Relu", {d.v("x")}, "t") == a);
  // Two short permutations differ from one long one.
  NodePattern sub = d.plain("Sub", {d.v("x"), d.v("y")});
  sub.permutations = {{0}, {1}};
  const NodePatternId two = d.made(sub);
  CHECK(d.made(sub) == two);
  sub.permutations = {{0, 1}};
  CHECK(d.made(sub) != two);
  // Chains with the same step are one term, even if their holes were created
  // separately.
  const auto chain = [&] {
    const TermId step = d.op("Neg", {d.hole()});
    return d.many(step, d.v("x"), 1);
  };
  CHECK(chain() == chain());
}

TEST_CASE("numbers take the kind of the attribute") {
  Draft d;
  d.result(d.attribute("LeakyRelu", {d.v("x")},
                       {.name = "alpha", .kind = Kind::kInt, .i = 1}));
  const auto made = d.finish();
  REQUIRE(made.ok());
  CHECK(made->nodes()[0].attributes[0].kind == Kind::kFloat);
  CHECK(made->nodes()[0].attributes[0].f == 1.0);
  Draft e;
  e.result(
      e.attribute("Transpose", {e.v("x")},
                  {.name = "perm", .kind = Kind::kFloats, .floats = {1, 0}}));
  const auto perm = e.finish();
  REQUIRE(perm.ok());
  CHECK(perm->nodes()[0].attributes[0].kind == Kind::kInts);
  CHECK(perm->nodes()[0].attributes[0].ints == std::vector<std::int64_t>{1, 0});
}

TEST_CASE("a list of strings only for an attribute of that kind") {
  const auto with = [](std::string type, std::string name) {
    return refusal([=](Draft& d) {
      d.result(d.attribute(
          type, {d.v("x")},
          {.name = name, .kind = Kind::kStrings, .strings = {"a"}}));
    });
  };
  CHECK(with("StringNormalizer", "stopwords") == "accepted");
  CHECK(with("Transpose", "perm")
            .ends_with("expected: a list of integers\n"
                       "  found:    a list of strings"));
}

TEST_CASE("chains nest to a limited depth") {
  const auto nested = [](int depth) {
    return refusal([depth](Draft& d) {
      std::vector<TermId> holes;
      for (int i = 0; i < depth; ++i) holes.push_back(d.hole());
      TermId base = d.v("x");
      for (; !holes.empty(); holes.pop_back()) {
        const TermId step = d.op("Add", {holes.back(), base});
        base = d.many(step, d.v("x"), ++d.line);
      }
      d.result(d.op("Neg", {base}));
    });
  };
  CHECK(nested(8) == "accepted");
  CHECK(nested(9).find("chains nested too deeply\n  where:    line 2") !=
        std::string::npos);
}

TEST_CASE("a name bound in exclusive branches is one name") {
  Draft d;
  const TermId mul = d.op("Mul", {d.v("x"), d.v("c")});
  const TermId div = d.op("Div", {d.v("x"), d.v("c")}, "div");
  const TermId scaled = d.either_of({mul, div, d.v("x")});
  d.result(d.op("Softmax", {scaled}, "root"));
  const auto made = d.finish();
  REQUIRE(made.ok());
  const std::vector<Binding> found = bindings(*made);
  const auto of = [&](std::string_view n) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (made->variables()[i].name == n) return found[i];
    }
    return Binding::kNever;
  };
  CHECK(of("x") == Binding::kAlways);
  CHECK(of("root") == Binding::kAlways);
  CHECK(of("c") == Binding::kSometimes);
  CHECK(of("div") == Binding::kSometimes);

  Draft both;
  const TermId one = both.op("Neg", {both.v("x")}, "t");
  const TermId two = both.op("Abs", {both.v("x")}, "t");
  both.result(both.op("Relu", {both.either_of({one, two})}));
  CHECK(both.finish().ok());
}

TEST_CASE("a chain's name: its records, and invalid names") {
  Draft d;
  const TermId step = d.op("Add", {d.hole(), d.v("bias")}, "step");
  const TermId chain = d.many(step, d.v("x"), 4);
  REQUIRE(d.tag(chain, d.name("steps"), 4).ok());
  d.result(d.op("Mul", {chain, d.v("x")}));
  const auto made = d.finish();
  REQUIRE(made.ok());
  CHECK(text_of(*made).find(" as steps\n") != std::string::npos);
  const std::vector<Binding> found = bindings(*made);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Variable& variable = made->variables()[i];
    CHECK(found[i] == Binding::kAlways);
    if (variable.name != "steps") {
      CHECK(variable.fields.empty());
      continue;
    }
    CHECK(variable.kind == VariableKind::kSteps);
    std::string fields;
    for (const VariableId id : variable.fields) {
      fields += (*made)[id].name + " ";
    }
    CHECK(fields == "bias step ");
  }

  Draft taken;
  const TermId other =
      taken.many(taken.op("Neg", {taken.hole()}, "steps"), taken.v("x"), 4);
  const Status status = taken.tag(other, taken.name("steps"), 4);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().what == "'steps' cannot name the steps of `many`");
  CHECK(status.error().found == "it stands for a node");

  Draft both;
  const TermId low = both.many(both.op("Neg", {both.hole()}), both.v("x"), 4);
  const TermId high = both.many(both.op("Abs", {both.hole()}), low, 5);
  CHECK(both.tag(low, both.name("steps"), 4).ok());
  CHECK(both.tag(high, both.name("steps"), 5).ok());
  both.result(both.op("Relu", {high}));
  const auto refused = both.finish();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().what == "'steps' names two chains on one path");
  CHECK(refused.error().found == "also the chain of line 4");
}

TEST_CASE("bindings: facts, lists, absent inputs, never") {
  Draft d;
  const TermId x = d.v("x");
  const TermId mask = d.either_of({d.v("mask"), d.absent()});
  const TermId step = d.op("Add", {d.hole(), d.v("bias")}, "step");
  const TermId chain = d.many(step, x, 1);
  const TermId bad = d.never(d.op("Neg", {d.v("inside")}), 1);
  NodePattern f = d.plain("F", {chain, mask, bad, d.rest(d.name("more"), 1)});
  f.domain = "test";
  d.result(d.output(d.made(f), 0));
  d.global_fact(d.shape(x, {"B", "S"}));
  d.global_fact(d.shape(d.v("mask"), {"S", "T"}));
  const auto made = d.finish();
  REQUIRE(made.ok());
  const std::vector<Binding> found = bindings(*made);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Variable& variable = made->variables()[i];
    CAPTURE(variable.name);
    Binding wanted = Binding::kAlways;
    if (variable.name == "mask" || variable.name == "T") {
      wanted = Binding::kSometimes;
    }
    if (variable.name == "inside") wanted = Binding::kNever;
    CHECK(found[i] == wanted);
    CHECK(variable.repeated ==
          (variable.name == "bias" || variable.name == "step"));
  }
}

TEST_CASE("a pattern as text") {
  Draft d;
  const TermId x = d.v("x");
  const TermId scaled =
      d.either_of({d.op("Mul", {x, d.num(0.5)}), d.op("Neg", {x}, "n"), x});
  d.result(d.attribute("Softmax", {scaled},
                       {.name = "axis", .kind = Kind::kInt, .i = -1}));
  d.global_fact(d.shape(x, {"B", "S"}));
  const auto made = d.finish();
  REQUIRE(made.ok());
  CHECK(text_of(*made) ==
        "t0 = x\n"
        "t1 = 0.5\n"
        "t2 = n0 Mul(t0, t1)\n"
        "t3 = n1 Neg(t0) as n\n"
        "t4 = either t2 | t3 | t0\n"
        "t5 = n2 Softmax(t4) axis=-1\n"
        "t0 shape B S\n"
        "return t5\n");
}

}  // namespace
}  // namespace ruleengine::pattern
