#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "core/text/parse.h"
#include "tests/support/match_draft.h"

namespace ruleengine::match {
namespace {

// The deepest miss at the producer of `root`: depth, test, expected, found.
std::string miss(const std::function<TermId(Draft&)>& build,
                 std::string_view text, std::string_view root) {
  Draft d;
  const TermId result = build(d);
  auto pattern = d.done({result});
  if (!pattern.ok()) return pattern.error().text();
  auto model = text::parse_model(text);
  if (!model.ok()) return model.error().text();
  ir::Graph& graph = (*model)->graph;
  DeclaredFacts facts(graph);
  ir::NodeId node;
  for (std::size_t n = 0; n < graph.node_count(); ++n) {
    if (graph.name(graph.output(ir::NodeId(n))) == root) node = ir::NodeId(n);
  }
  const Attempt attempt = explain(*pattern, graph, facts, node);
  if (attempt.match) return "match";
  if (!attempt.miss) return "nothing";
  const Miss& m = *attempt.miss;
  CHECK(m.root == node);
  return std::to_string(m.depth) + ": line " + std::to_string(m.line) + ": " +
         m.test + ": expected " + m.expected + ", found " + m.found;
}

TermId attention(Draft& d) {
  const TermId scores = d.op(
      "MatMul", {d.v("q"), d.op("Transpose", {d.v("k")}, {{.name = "perm"}})});
  const TermId scaled = d.either_of(
      {d.op("Mul", {scores, d.v("c")}), d.op("Div", {scores, d.v("c")})});
  return d.op("MatMul", {d.op("Softmax", {scaled}), d.v("v")});
}

TEST_CASE("the deepest failing test, in the terms of the rule") {
  const char* graph = R"(
    (float[2,2] q, float[2,2] k, float[2,2] v) => (float[2,2] y) <float c = {2.0}> {
      [tr] t = Transpose <perm = [1,0]> (k)
      [m1] s = MatMul(q, t)
      [a] d = Add(s, c)
      [p] p = Softmax(d)
      [m2] y = MatMul(p, v)
    })";
  CHECK(miss(attention, graph, "y") ==
        "2: line 3: input 0 of Softmax node 'p': expected Mul or Div, "
        "found 'd' of Add node 'a'");
  CHECK(miss(attention, graph, "p") ==
        "0: line 7: op of Softmax node 'p': expected MatMul, "
        "found 'p' of Softmax node 'p'");
  CHECK(miss(attention, graph, "s") ==
        "1: line 6: input 0 of MatMul node 'm1': expected Softmax, "
        "found input 'q' float[2,2]");
}

TEST_CASE("element types are said by name") {
  const auto cast = [](Draft& d) {
    using Kind = pattern::AttributePattern::Kind;
    return d.op("Cast", {d.v("x")},
                {{.name = "to", .kind = Kind::kInt, .i = 1}});
  };
  CHECK(miss(cast, "(float[2] x) => (float16[2] y) { y = Cast <to = 10> (x) }",
             "y")
            .ends_with("expected float, found float16"));
}

TEST_CASE("numbers, attributes, facts, readers") {
  const char* graph = R"((float[2,3] a) => (float[2,3] y, float[2,3] z)
      <float k = {2.5}> {
    [m] m = Mul(a, k)
    [s] y = Softmax <axis = 0> (m)
    [r] r = Relu(a)
    [n] z = Neg(r)
    [x] w = Abs(r)
  })";
  CHECK(miss(
            [](Draft& d) {
              return d.op("Softmax", {d.op("Mul", {d.v("x"), d.num(2)})},
                          {{.name = "axis"}});
            },
            graph, "y") ==
        "2: line 1: input 1 of Mul node 'm': expected the constant 2, "
        "found initializer 'k' = 2.5");
  CHECK(
      miss([](Draft& d) { return d.op("Softmax", {d.v("x")}); }, graph, "y") ==
      "0: line 1: attribute axis of Softmax node 's': expected its default, "
      "since the pattern does not mention it, found 0");
  CHECK(miss(
            [](Draft& d) {
              d.global_fact(d.shape(d.v("x"), "B 8"));
              return d.op("Relu", {d.v("x")});
            },
            graph, "r") ==
        "1: line 1: fact about input 'a' float[2,3]: expected shape B=2 8, "
        "found input 'a' float[2,3]");
  CHECK(miss([](Draft& d) { return d.op("Neg", {d.op("Relu", {d.v("x")})}); },
             graph, "z") ==
        "2: line 1: readers of 'r': expected only nodes of the match, "
        "found also read by Abs node 'x'");
  CHECK(miss([](Draft& d) { return d.op("Neg", {d.v("x")}); }, graph, "z") ==
        "match");
}

TEST_CASE("the attribute that is expected") {
  using Kind = AttributePattern::Kind;
  const char* graph = R"((float[2,3,4] a) => (float[4,3,2] y, float[2,3,4] z) {
    [t] y = Transpose(a)
    [c] b = Softmax <axis = 0> (a)
    [s] z = Softmax <axis = 1> (b)
  })";
  CHECK(miss(
            [](Draft& d) {
              return d.op(
                  "Transpose", {d.v("x")},
                  {{.name = "perm", .kind = Kind::kInts, .ints = {1, 0}}});
            },
            graph, "y") ==
        "0: line 1: attribute perm of Transpose node 't': expected [1, 0], "
        "found [2, 1, 0]");
  CHECK(miss(
            [](Draft& d) {
              const AttributePattern axis{.name = "axis",
                                          .kind = Kind::kVariable,
                                          .variable = d.variable("A", 1)};
              return d.op("Softmax", {d.op("Softmax", {d.v("x")}, {axis})},
                          {axis});
            },
            graph, "z") ==
        "1: line 1: attribute axis of Softmax node 'c': expected A=1, found 0");
}

TEST_CASE("of two orders of inputs the likelier one is explained") {
  const char* graph = R"((float[2] x) => (float[2] y, float[2] z, float[2] u)
      <float one = {1.0}> {
    [h] h = HardSigmoid(x)
    [m] y = Mul(h, x)
    [t] t = Tanh(x)
    [a] z = Add(one, t)
    [r] r = Relu(x)
    [b] u = Add(r, t)
  })";
  const auto gated = [](Draft& d) {
    return d.op("Mul", {d.v("x"), d.op("Sigmoid", {d.v("x")})});
  };
  CHECK(miss(gated, graph, "y") ==
        "1: line 1: input 0 of Mul node 'm': expected Sigmoid, "
        "found 'h' of HardSigmoid node 'h'");
  const auto plus_one = [](Draft& d) {
    return d.op("Add", {d.op("Erf", {d.v("x")}), d.num(1)});
  };
  CHECK(miss(plus_one, graph, "z") ==
        "1: line 1: input 1 of Add node 'a': expected Erf, "
        "found 't' of Tanh node 't'");
  const auto sum = [](Draft& d) {
    return d.op("Add", {d.op("Erf", {d.v("x")}), d.op("Relu", {d.v("x")})});
  };
  CHECK(miss(sum, graph, "u") ==
        "1: line 1: input 1 of Add node 'b': expected Erf, "
        "found 't' of Tanh node 't'");
}

TEST_CASE("optional parts are not blamed") {
  const char* graph = R"((float[1,1,3,3] x, float[1,1,1,1] w)
      => (float[1,1,3,3] u, float[1,1,3,3] c, float[1,1,3,3] z)
      <float one = {1.0}> {
    [c] c = Conv(x, w)
    [r] u = Relu(c)
    [a] a = Add(x, one)
    [s] s = Sigmoid(x)
    [m] z = Mul(a, s)
  })";
  const auto biased = [](Draft& d) {
    const TermId bias = d.maybe(d.v("b"), d.absent());
    return d.op("Relu", {d.op("Conv", {d.v("x"), d.v("w"), bias})});
  };
  CHECK(miss(biased, graph, "u") ==
        "2: line 2: readers of 'c': expected only nodes of the match, "
        "found it is an output of the graph");
  const auto gated = [](Draft& d) {
    const TermId x = d.v("x");
    const TermId plain = d.maybe(d.op("Neg", {x}), x);
    return d.op("Mul",
                {d.op("Add", {plain, d.num(1)}), d.op("Softmax", {d.v("y")})});
  };
  CHECK(miss(gated, graph, "z") ==
        "2: line 4: input 1 of Mul node 'm': expected Softmax, "
        "found 's' of Sigmoid node 's'");
}

TEST_CASE("a node with the right op is nearer than one with another") {
  const char* graph = R"((float[2,3] a) => (float[2,3] y) {
    [r] b = Relu(a)
    [s] y = Softmax <axis = 0> (b)
  })";
  const auto either = [](Draft& d) {
    return d.either_of({d.op("Abs", {d.v("x")}), d.op("Softmax", {d.v("x")})});
  };
  CHECK(miss(either, graph, "y") ==
        "0: line 2: attribute axis of Softmax node 's': expected its default, "
        "since the pattern does not mention it, found 0");
  CHECK(miss(either, graph, "b") ==
        "0: line 1: op of Relu node 'r': expected Abs or Softmax, "
        "found 'b' of Relu node 'r'");
}

}  // namespace
}  // namespace ruleengine::match
