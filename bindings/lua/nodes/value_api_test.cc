// What rule code may ask of values, dimensions and constants. The rules assert
// in Lua: an assertion that fails is an error of the rule.
#include "bindings/lua/nodes/value_api.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

// A rule over y = Relu(x) whose `where` has this body.
Attempted where(std::string_view body, std::string_view model) {
  RuleRunner runner(
      "match = function(op, x) return op.Relu(x):as \"relu\" end,"
      "where = function(m) " +
          std::string(body) +
          " end,"
          "rewrite = function(op, m) return op.Neg(m.x) end",
      model);
  return runner.attempt();
}

constexpr std::string_view kKnown =
    "(float[2,3,4] x) => (float[2,3,4] y) { y = Relu(x) }";
constexpr std::string_view kSymbolic =
    "(float16[B,3,S] x) => (float16[B,3,S] y) { y = Relu(x) }";
constexpr std::string_view kUnknown =
    "(float[] x) => (float[] y) { y = Relu(x) }";

// The body must hold: the rule fires.
void value_holds(std::string_view body, std::string_view model) {
  CAPTURE(body);
  const Attempted out = where(body, model);
  CHECK(out.what() == "");
  CHECK(out.reason() == "");
  CHECK(out.fired);
}

TEST_CASE("shapes: reading, comparing, printing") {
  value_holds("assert(m.x.shape[1] == 2 and #m.x.shape == 3)", kKnown);
  value_holds("assert(m.x.shape == m.relu.outputs[1].shape)", kKnown);
  value_holds("assert(tostring(m.x.shape) == '[B, 3, S]', tostring(m.x.shape))",
              kSymbolic);
  value_holds(
      "local n = 1 for i, d in ipairs(m.x.shape) do n = n * d end "
      "assert(n == 24)",
      kKnown);
}

TEST_CASE("shapes: questions") {
  value_holds(
      "assert(m.x:shape '2 3 4' and m.x:shape '... 4' and m.x:shape '_ _ D')",
      kKnown);
  value_holds("assert(not m.x:shape '2 3' and not m.x:shape 'A A _')", kKnown);
  value_holds("assert(m.x:shape 'B 3 S' and not m.x:shape 'B 3 B')", kSymbolic);
  value_holds("assert(m.x:fits '7 2 3 4' and not m.x:fits '3 4')", kKnown);
  value_holds("assert(m.x:fits 'A B C D' and m.x:fits 'A 2 3 4')", kKnown);
  CHECK(where("m.x:shape 'B ... S'", kKnown).what() ==
        "'...' is not a dimension of a shape");
  CHECK(where("m.x:shape(3)", kKnown).what() == "a shape text is missing");
}

TEST_CASE("letters stand for dimensions of the pattern") {
  RuleRunner runner(
      "match = function(op, x, y) x:shape 'A B'; return op.Add(x, y) end,"
      "where = function(m) assert(m.y:shape '_ B' and not m.y:shape 'B _') end,"
      "rewrite = function(op, m) return op.Sub(m.x, m.y) end",
      "(float[2,3] x, float[2,3] y) => (float[2,3] z) { z = Add(x, y) }");
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.fired);
}

TEST_CASE("an unknown shape equals nothing; its predicates are false") {
  value_holds("assert(m.x.shape ~= m.relu.outputs[1].shape)", kUnknown);
  value_holds("assert(not (#m.x.shape == 4) and not (#m.x.shape > 0))",
              kUnknown);
  value_holds("assert(m.x.shape[1] == nil and m.x:rank() == nil)", kUnknown);
  value_holds("assert(not m.x:shape '...' and not m.x:rank(4))", kUnknown);
  value_holds("assert(m.x:dim(-1) == nil and not m.x:dim(-1, '_'))", kUnknown);
}

TEST_CASE("list indices start at 1") {
  value_holds("assert(m.x.shape[3] == 4 and m.x.shape[4] == nil)", kKnown);
  value_holds("for k in pairs(m.relu.inputs) do assert(k == 1) end", kKnown);
  for (const char* read : {"m.x.shape[0]", "m.relu.inputs[0]",
                           "m.relu.outputs[-1]", "m.x.users.first"}) {
    CHECK_MESSAGE(where("return " + std::string(read), kKnown).what() ==
                      "the indices of a list start at 1",
                  read);
  }
  CHECK(where("return m.x.shape[0]", kKnown).error->found == "index 0");
}

TEST_CASE("values are not numbers") {
  for (const char* sum : {"m.x + 1", "2 * m.x", "-m.x", "m.x / m.x"}) {
    CHECK_MESSAGE(where("return " + std::string(sum), kKnown).what() ==
                      "arithmetic on a value",
                  sum);
  }
  CHECK(where("return 'a' .. m.x", kKnown).what() == "a value is not a string");
}

TEST_CASE("rank, dim, type") {
  value_holds("assert(m.x:rank() == 3 and m.x:rank(3) and not m.x:rank(4))",
              kKnown);
  value_holds(
      "assert(m.x:dim(0) == 2 and m.x:dim(-1) == 4 and m.x:dim(3) == nil)",
      kKnown);
  value_holds(
      "assert(m.x:dim(-1, '4') and m.x:dim(-1, 4) and not m.x:dim(0, '3'))",
      kKnown);
  value_holds("assert(m.x.dtype == 'float' and m.x:type() == 'float')", kKnown);
  value_holds("assert(m.x:type 'float32' and m.x:type('int64', 'float'))",
              kKnown);
  value_holds("assert(not m.x:type 'float16')", kKnown);
  CHECK(where("m.x:type 'flot'", kKnown).what() ==
        ":type wants the name of an element type");
  CHECK(where("m.x:type 'flot'", kKnown).error->hint ==
        "did you mean 'float'?");
}

TEST_CASE("symbolic dimensions equal themselves and are not numbers") {
  value_holds("assert(m.x:dim(0) == m.relu.outputs[1]:dim(0))", kSymbolic);
  value_holds("assert(m.x:dim(0) ~= m.x:dim(2) and m.x:dim(0) ~= 3)",
              kSymbolic);
  value_holds(
      "assert(tostring(m.x:dim(0)) == 'B' and 'n' .. m.x:dim(2) == 'nS')",
      kSymbolic);
  for (const char* body : {"return 2 * m.x:dim(0)", "return -m.x:dim(0)",
                           "return m.x.shape[1] + 1"}) {
    CHECK(where(body, kSymbolic).reason() ==
          "arithmetic needs dimension B, which is not a known number");
  }
  const Attempted compared = where("return m.x:dim(0) < m.x:dim(2)", kSymbolic);
  CHECK(compared.reason() ==
        "a comparison needs dimension B, which is not a known number");
  CHECK(compared.rejection->value == "B");
}

TEST_CASE("kinds of symbolic dimensions: named, computed, unknown, rounded") {
  const auto holds_of = [](const char* dim, const char* body) {
    CAPTURE(dim);
    const std::string type = "(float[" + std::string(dim) + ",4] ";
    const std::string model = type + "x) => " + type + "y) { y = Relu(x) }";
    const Attempted out =
        where("local d = m.x:dim(0) assert(" + std::string(body) + ")", model);
    CHECK(out.what() == "");
    CHECK(out.fired);
  };
  holds_of("N", "d.name == 'N' and not d.computed and not d.unknown");
  holds_of("N", "not d.rounded");
  holds_of("?", "d.name == nil and not d.computed and d.unknown");
  holds_of("\"N + 1\"", "d.name == nil and d.computed and not d.unknown");
  holds_of("\"2*N\"", "d.computed and not d.rounded");
  const Attempted half = where(
      "local d = m.relu.outputs[1]:dim(0) "
      "assert(d.computed and d.rounded and not d.unknown and d.name == nil)",
      "(float[N,4] x) => (float[?,4] y) <int64[1] zero = {0}, "
      "int64[1] far = {9223372036854775807}, int64[1] two = {2}> {"
      "  s = Slice(x, zero, far, zero, two) y = Relu(s) }");
  CHECK(half.what() == "");
  CHECK(half.fired);
  const Attempted slip = where("return m.x:dim(0).nam", kSymbolic);
  CHECK(slip.what() == "a symbolic dimension has no field 'nam'");
  CHECK(slip.error->hint == "did you mean 'name'?");
}

TEST_CASE("comparing a number with a symbolic dimension gives a hint") {
  for (const char* body : {"< 3", ">= 3", "== m.x:dim(0) and 3 > m.x:dim(0)"}) {
    const Attempted out =
        where("return m.x:dim(0) " + std::string(body), kSymbolic);
    REQUIRE(out.error);
    CHECK(out.error->hint.starts_with("dimension B is not a number"));
  }
  const Attempted other =
      where("local s = m.x:dim(2) return m.x:dim(0) < 3", kSymbolic);
  REQUIRE(other.error);
  CHECK(other.error->hint.starts_with("a dimension without a known number"));
  CHECK(where("return m.x < 3", kSymbolic).error->hint == "");
  CHECK(where("need(m.x.scalar, 'no scalar')", kSymbolic).what() ==
        "`need` wants a condition");
}

TEST_CASE("reads of one callback give no hint in the next") {
  RuleRunner runner(
      "match = function(op, x) return op.Relu(x) end,"
      "where = function(m) assert(m.x:dim(0)) end,"
      "rewrite = function(op, m) return m.x < 3 end",
      kSymbolic);
  const Attempted out = runner.attempt();
  CHECK(out.what() == "attempt to compare userdata with number");
  REQUIRE(out.error);
  CHECK(out.error->hint == "");
}

TEST_CASE("an error that does not recur is reported unchanged") {
  CHECK(where("m.n = (m.n or 0) + 1 error('try ' .. m.n)", kKnown).what() ==
        "try 1");
}

TEST_CASE("arithmetic on an unknown dimension cannot be caught") {
  const Attempted out =
      where("pcall(function() return m.x:dim(0) + 1 end) error('went on')",
            kSymbolic);
  CHECK(out.what() == "");
  CHECK(out.reason().find("arithmetic needs") == 0);
}

constexpr std::string_view kConstants =
    "(float[2,2] x) => (float[2,2] y) "
    "<float s = {0.5}, float[1] o = {2.0}, int64[3] l = {0,-1,7},"
    " float[2,3] w = {1,2,3,4,5,6}> {"
    " a = Relu(x) b = Mul(a, s) c = Mul(b, o) r = Reshape(c, l)"
    " y = Gemm(r, w) }";

TEST_CASE("constants as numbers and lists") {
  const auto of = [](const char* body) {
    return "local n = {} for _, op in ipairs{'Mul', 'Reshape', 'Gemm'} do "
           "for _, each in ipairs(m.graph:nodes(op)) do n[#n + 1] = each end "
           "end local s, o, l, w = n[1].inputs[2], n[2].inputs[2], "
           "n[3].inputs[2], n[4].inputs[2] " +
           std::string(body);
  };
  value_holds(of("assert(s:scalar() == 0.5 and o:scalar() == 2)"), kConstants);
  value_holds(of("assert(l:scalar() == nil and m.x:scalar() == nil)"),
              kConstants);
  value_holds(of("assert(s:constant()[1] == 0.5 and o:constant()[1] == 2)"),
              kConstants);
  value_holds(of("local c = l:constant() assert(#c == 3 and c[2] == -1)"),
              kConstants);
  value_holds(of("assert(w:constant()[4] == 4 and w.T:constant()[4] == 5)"),
              kConstants);
  value_holds(
      of("assert(l:among(7, 0, -1) and s:among(0.5) and not w:among(1, 2) "
         "and not m.x:among(0))"),
      kConstants);
  CHECK(where(of("return l:among 'all'"), kConstants)
            .what()
            .find(":among wants numbers") == 0);
  value_holds(of("assert(w.T.shape[1] == 3 and w.T.T == w and w.T ~= w)"),
              kConstants);
  value_holds(of("assert(w:const() and w:const 'K 3' and not m.x:const())"),
              kConstants);
  value_holds(of("assert(l:dims()[3] == 7 and m.x:constant() == nil)"),
              kConstants);
  CHECK(where(of("return m.x.T"), kConstants).reason() ==
        ".T needs a constant of two dimensions");
}

TEST_CASE("an integer that Lua cannot represent rejects the match") {
  const auto model = [](const std::string& type, const std::string& number) {
    return "(" + type + "[2] x) => (" + type + "[2] y) <" + type + " c = {" +
           number + "}> { r = Relu(x) y = Add(r, c) }";
  };
  const auto with = [&](const char* use, const std::string& type,
                        const std::string& number) {
    return where(
        "local c = m.graph:nodes('Add')[1].inputs[2] " + std::string(use),
        model(type, number));
  };
  constexpr const char* kReason =
      "a number of the model is too large for rule code";
  for (const char* use : {"local s = c:scalar()", "local s = c:constant()",
                          "pcall(c.scalar, c) error('went on')"}) {
    CAPTURE(use);
    const Attempted out = with(use, "int64", "9007199254740993");
    CHECK(out.what() == "");
    CHECK(out.reason() == kReason);
    CHECK(out.rejection->value == "'c' int64");
  }
  CHECK(
      with("local s = c:scalar()", "uint64", "9223372036854775807").reason() ==
      kReason);
  for (const char* exact : {"9007199254740992", "9223372036854775807",
                            "-9223372036854775808", "4611686018427387904"}) {
    CAPTURE(exact);
    CHECK(with("assert(c:scalar() == c:constant()[1])", "int64", exact).fired);
  }
  const std::string shaped =
      "(float[2] x) => (float[2] y) "
      "{ r = Relu(x) y = LeakyRelu <big = 9007199254740993> (r) }";
  CHECK(where("local b = m.graph:nodes('LeakyRelu')[1].attrs.big", shaped)
            .reason() == kReason);
}

TEST_CASE("producers, users and names") {
  value_holds("assert(m.x.name == 'x' and m.x.producer == nil)", kKnown);
  value_holds("assert(m.relu.outputs[1].producer == m.relu)", kKnown);
  value_holds("assert(#m.x.users == 1 and m.x.users[1] == m.relu)", kKnown);
  value_holds("assert(m.relu.outputs[1].is_output and not m.x.is_output)",
              kKnown);
  value_holds("local seen = {[m.x] = true} assert(seen[m.relu.inputs[1]])",
              kKnown);
}

TEST_CASE("errors list the valid names") {
  const Attempted out = where("return m.x.shap", kKnown);
  CHECK(out.what() == "a value has no field 'shap'");
  CHECK(out.error->hint.find("'shape'") != std::string::npos);
  CHECK(out.error->where.find("r.lua:1") != std::string::npos);
  CHECK(out.error->where.find("Relu node") != std::string::npos);
  CHECK(where("m.x.name = 'z'", kKnown).what() ==
        "a value cannot be assigned to");
  CHECK(where("getmetatable(m.x).__index = nil", kKnown).error);
  CHECK(where("return m.x + 1", kKnown).error);
}

}  // namespace
}  // namespace ruleengine::lua
