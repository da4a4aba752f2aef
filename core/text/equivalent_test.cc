#include "core/text/equivalent.h"

#include <doctest/doctest.h>

#include <string>

#include "core/text/parse.h"

namespace ruleengine::text {
namespace {

std::string compare(std::string_view a, std::string_view b) {
  const auto x = parse_model(a), y = parse_model(b);
  if (!x) return x.error().text();
  if (!y) return y.error().text();
  return difference(**x, **y).value_or("");
}

// Whether two bodies of graphs from x to y are equivalent.
std::string bodies(std::string_view a, std::string_view b) {
  const std::string head =
      "(float[2,3] x, float[2,3] z) => (float[2,3] y) <float c = {2}, float d "
      "= {3}> {";
  return compare(head + std::string(a) + "}", head + std::string(b) + "}");
}

TEST_CASE("names, order and spelling mean nothing") {
  CHECK(bodies("a = Relu(x) b = Neg(z) y = Sub(a, b)",
               "u = Neg(z) [n] t = Relu(x) y = Sub(t, u)") == "");
  CHECK(bodies("y = Add(x, z)", "y = Add(z, x)") == "");
  CHECK(bodies("y = Softmax(x)", "y = Softmax <axis = -1> (x)") == "");
  CHECK(bodies("y = Mul(x, c)",
               "k = Constant <value = float {2}> () y = Mul(x, k)") == "");
  CHECK(bodies("y = Mul(x, c)",
               "k = Constant <value_float = 2.0> () y = Mul(k, x)") == "");
  CHECK(bodies("y = Clip(x)", "y = Clip(x, \"\", \"\")") == "");
  CHECK(bodies("y = Dropout(x)", "y, mask = Dropout(x)") == "");
  CHECK(bodies("y = Op <a = 1, b = 2> (x)", "y = Op <b = 2, a = 1> (x)") == "");
}

TEST_CASE("what differs is said") {
  CHECK(bodies("y = Relu(x)", "y = Neg(x)") ==
        "expected no Neg, 1 Relu; found 1 Neg, no Relu");
  CHECK(bodies("y = Sub(x, z)", "y = Sub(z, x)") ==
        "Sub node of output 'y': input 0: expected 'x', found 'z'");
  CHECK(bodies("y = Mul(x, c)", "y = Mul(x, d)") ==
        "Mul node of output 'y': input 1: expected float {2}, found float "
        "{3}");
  CHECK(bodies("y = Softmax(x)", "y = Softmax <axis = 1> (x)") ==
        "Softmax node of output 'y': attribute axis: expected none or its "
        "default, found 'axis = 1'");
  CHECK(bodies("a = Relu(x) y = Add(a, z)", "a = Relu(x) y = Add(a, a)") ==
        "Add node of output 'y': input 1: expected 'z', found output 0 of "
        "Relu ('a')");
  CHECK(bodies("a, y = Split <axis = 1> (x)", "y, a = Split <axis = 1> (x)") ==
        "output 'y': expected output 1 of Split ('y'), found output 0 of "
        "Split ('y')");
  CHECK(bodies("y = Sum(x, z)", "y = Sum(x, z, z)") ==
        "Sum node of output 'y': number of inputs: expected 2, found 3");
  CHECK(bodies("y = Op(x)", "y, b = Op(x)") ==
        "Op node of output 'y': number of outputs: expected 1, found 2");
  CHECK(bodies("y = Op <a: ints = []> (x)", "y = Op <a: floats = []> (x)")
            .ends_with("expected 'a: ints = []', found 'a: floats = []'"));
  CHECK(compare("(float x) => (x) {}", "(float z) => (z) {}") ==
        "name of input 0: expected 'x', found 'z'");
  CHECK(compare("(float[2] x) => (x) {}", "(float[3] x) => (x) {}") ==
        "type of input 'x': expected float[2], found float[3]");
  CHECK(compare("(float x, float z) => (x) {}", "(float x) => (x) {}") ==
        "number of inputs: expected 2, found 1");
}

TEST_CASE("how often a node occurs counts") {
  CHECK(bodies("a = Relu(x) y = Add(a, a)",
               "a = Relu(x) b = Relu(x) y = Add(a, b)") ==
        "expected 1 Relu; found 2 Relu");
  CHECK(bodies("y = Relu(x)", "y = Relu(x) dead = Neg(x)") ==
        "expected no Neg; found 1 Neg");
}

TEST_CASE("constants by bits") {
  const auto with = [](std::string_view c) {
    return "(float[1] x) => (y) <" + std::string(c) + "> { y = Add(x, c) }";
  };
  CHECK(compare(with("float[1] c = {0}"), with("float[1] c = {-0.0}")) != "");
  CHECK(compare(with("float[1] c = {0}"), with("float c = {0}")) != "");
  CHECK(compare(
            with("float[1] c = {1}"),
            with("float[1] c = {1}, float[9] unused = {1,2,3,4,5,6,7,8,9}")) ==
        "");
}

TEST_CASE("bodies of control flow") {
  const auto with = [](std::string_view branch) {
    return "(bool c, float x) => (y) { a = Relu(x) y = If(c) <then_branch = t "
           "() => (r) {" +
           std::string(branch) +
           "}, else_branch = e () => (s) { s = Neg(a) }> }";
  };
  CHECK(compare(with("r = Abs(a)"), with("r = Abs(a)")) == "");
  CHECK(compare(with("q = Abs(a) r = Abs(q)"), with("b = Abs(a) r = Abs(b)")) ==
        "");
  CHECK(compare(with("r = Abs(a)"), with("r = Abs(x)")) ==
        "Abs node of output 'r': input 0: expected output 0 of Relu ('a'), "
        "found 'x'");
  const std::string other = with("r = Abs(a)");
  std::string swapped = other;
  swapped.replace(swapped.find("() => (r) {r = Abs(a)}"), 22,
                  "() => (r) {r = Neg(a)}");
  swapped.replace(swapped.find("{ s = Neg(a) }"), 14, "{ s = Abs(a) }");
  CHECK(compare(other, swapped) ==
        "If node of output 'y': attribute else_branch: expected 'else_branch "
        "= {1 nodes}', found 'else_branch = {1 nodes}'");
}

TEST_CASE("functions that are called are compared") {
  const auto with = [](std::string_view body) {
    return "(float x) => (y) { y = d.f(x) } <domain: \"d\"> f (a) => (b) {" +
           std::string(body) + "} <domain: \"d\"> g (a) => (b) { b = Abs(a) }";
  };
  CHECK(compare(with("b = Neg(a)"), with("b = Neg(a)")) == "");
  CHECK(compare(with("b = d.g(a)"), with("b = d.g(a)")) == "");
  CHECK(compare(with("b = Neg(a)"), with("b = Abs(a)")) ==
        "in the function d::f: expected no Abs, 1 Neg; found 1 Abs, no Neg");
  CHECK(compare("(float x) => (y) { y = d.f(x) }", with("b = Neg(a)")) ==
        "in the function d::f: expected none, found one");
  CHECK(compare("(float x) => (y) { y = Neg(x) }",
                "(float x) => (y) { y = Neg(x) } <domain: \"d\"> f (a) => (b) "
                "{ b = Neg(a) }") == "");
}

TEST_CASE("a model with a cycle is equivalent to none") {
  const auto model = [] {
    return std::move(
        *parse_model("(float x) => (y) { a = Neg(x) y = Relu(a) }"));
  };
  const auto sound = model(), cyclic = model();
  ir::Graph& g = cyclic->graph;
  g.set_operand(ir::OperandId(g.node(ir::NodeId(0u)).first_operand),
                g.output(ir::NodeId(1u)));
  CHECK(difference(*sound, *cyclic).value_or("") ==
        "found: the graph has a cycle");
  CHECK(difference(*cyclic, *sound).value_or("") ==
        "expected: the graph has a cycle");
}

}  // namespace
}  // namespace ruleengine::text
