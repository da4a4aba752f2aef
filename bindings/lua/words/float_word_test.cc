// float(x), and the kind of numbers for which no schema states one.
#include "bindings/lua/words/float_word.h"

#include <doctest/doctest.h>

#include <string>

#include "core/text/equivalent.h"
#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

constexpr std::string_view kFloatWordModel =
    "(float[2] x) => (float[2] y) <float c = {2.0}> "
    "{ a = Mul(x, c) y = mine.f <k = 2.0, n = 3, l = [1.0, 2.0]> (a) }";
constexpr std::string_view kMatch =
    "match = function(op, x, c, k, n, l) "
    "return op.mine.f{op.Mul(x, c), k = k, n = n, l = l}:as 'f' end,\n";

// `rule` ends with a call that builds one node from x.
void becomes(const std::string& rule, std::string_view after,
             std::string_view before = kFloatWordModel) {
  CAPTURE(rule);
  RuleRunner runner(rule, before);
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.reason() == "");
  REQUIRE(out.fired);
  auto model = text::parse_model(before);
  REQUIRE(model.ok());
  auto wanted = text::parse_after(**model, before, after);
  if (!wanted.ok()) FAIL(wanted.error().text());
  CHECK(text::difference(**wanted, runner.model()).value_or("") == "");
}

std::string rewrite(const std::string& body) {
  return std::string(kMatch) + "rewrite = function(op, m) " + body + " end";
}
std::string replace(const std::string& result) {
  return std::string(kMatch) + "replace = function(op, x, c, k, n, l) return " +
         result + " end";
}

std::string mistake(const std::string& body) {
  RuleRunner runner(rewrite(body), kFloatWordModel);
  const Attempted out = runner.attempt();
  REQUIRE(out.error.has_value());
  return out.error->text();
}

TEST_CASE("float() gives FLOAT and FLOATS, even for integers") {
  becomes(rewrite("return op.mine.g{m.x, a = float(2), b = 2, d = float(0.5)}"),
          "y = mine.g <a = 2.0, b = 2, d = 0.5> (x)");
  becomes(rewrite("return op.mine.g{m.x, a = float(m.c:scalar() * 2)}"),
          "y = mine.g <a = 4.0> (x)");
  becomes(rewrite("return op.mine.g{m.x, a = float{1, 2}, b = {1, 2},"
                  " d = {float(1), 2}, e = float{}}"),
          "y = mine.g <a = [1.0, 2.0], b = [1, 2], d = [1.0, 2.0],"
          " e : floats = []> (x)");
  becomes(rewrite("return op.mine.g{m.x, a = float(float(2)),"
                  " b = float(float{2})}"),
          "y = mine.g <a = 2.0, b = [2.0]> (x)");
}

TEST_CASE("float() where the schema requires FLOAT") {
  becomes(rewrite("return op.LeakyRelu{m.x, alpha = float(2)}"),
          "y = LeakyRelu <alpha = 2.0> (x)");
  const std::string error = mistake("return op.Softmax{m.x, axis = float(1)}");
  CHECK(error.find("attribute 'axis' must be an integer") != error.npos);
  CHECK(error.find("found:    a float") != error.npos);
}

TEST_CASE("a float() may be stored outside of callbacks and in m") {
  becomes(std::string(kMatch) +
              "where = function(m) m.two = float(m.c:scalar()) end,\n"
              "rewrite = function(op, m) return op.mine.g{m.x, a = m.two} end",
          "y = mine.g <a = 2.0> (x)");
  becomes("together = function(m) return float(2) end, " + std::string(kMatch) +
              "rewrite = (function() local two = float(2) return function(op, "
              "ms) return op.mine.g{ms[1].x, a = two} end end)()",
          "y = mine.g <a = 2.0> (x)");
}

TEST_CASE("a float of the model stays a float") {
  becomes(rewrite("return m.f:with{m.x, k = 3, l = {4}}"),
          "y = mine.f <k = 3.0, n = 3, l = [4.0]> (x)");
  becomes(rewrite("return m.f:with{m.x, n = 0.5}"),
          "y = mine.f <k = 2.0, n = 0.5, l = [1.0, 2.0]> (x)");
  becomes(rewrite("return op.mine.g{m.x, a = m.l, b = m.f.attrs.l}"),
          "y = mine.g <a = [1.0, 2.0], b = [1.0, 2.0]> (x)");
  becomes(replace("op.mine.g{x, a = k, b = n, d = l}"),
          "y = mine.g <a = 2.0, b = 3, d = [1.0, 2.0]> (x)");
  becomes(replace("op.mine.f{x, k = 5, n = n, l = l}:as 'f'"),
          "y = mine.f <k = 5.0, n = 3, l = [1.0, 2.0]> (x)");
  becomes(replace("op.Softmax{x, axis = k}"), "y = Softmax <axis = 2> (x)",
          "(float[1,1,2] x) => (float[1,1,2] y) <float c = {2.0}> { a = Mul(x, "
          "c) y = mine.f <k = 2.0, n = 3, l = [1.0]> (a) }");
}

TEST_CASE("float() in match and replace") {
  constexpr std::string_view kFloats =
      "(float[2] x) => (float[2] y) "
      "{ y = mine.f <k = 2.0, l = [1.0]> (x) }";
  const auto rule = [](const char* k, const char* l) {
    return std::string("match = function(op, x) return op.mine.f{x, k = ") + k +
           ", l = " + l +
           "} end,\nreplace = function(op, x) return op.mine.g{x, a = "
           "float(3), "
           "b = float{1}} end";
  };
  becomes(rule("float(2)", "float{1}"), "y = mine.g <a = 3.0, b = [1.0]> (x)",
          kFloats);
  CHECK(RuleRunner(rule("2", "float{1}"), kFloats).matches().empty());
  CHECK(RuleRunner(rule("float(2)", "{1}"), kFloats).matches().empty());
  CHECK(RuleRunner(rule("float(3)", "float{1}"), kFloats).matches().empty());
}

TEST_CASE("float() of a symbolic dimension rejects the match") {
  RuleRunner runner(rewrite("return op.mine.g{m.x, a = float(m.x:dim(0))}"),
                    "(float[B] x) => (float[B] y) <float c = {2.0}> "
                    "{ a = Mul(x, c) "
                    "y = mine.f <k = 2.0, n = 3, l = [1.0]> (a) }");
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.reason() ==
        "float() needs dimension B, which is not a known number");
}

TEST_CASE("float() of something that is not a number") {
  const auto says = [](const char* body, std::string_view text) {
    CAPTURE(body);
    CHECK(mistake(body).find(text) != std::string::npos);
  };
  says("return op.mine.g{m.x, a = float(m.c)}", "`float` takes only numbers\n");
  says("return op.mine.g{m.x, a = float(m.c)}",
       "v:scalar() is the number of a constant");
  says("return op.mine.g{m.x, a = float{1, 'b'}}",
       "`float` takes only numbers in a list");
  says("return op.mine.g{m.x, a = float(2) * 2}",
       "`float` comes last: float(2 * n)");
  says("error(tostring(float(2)))", "float(2)");
  says("return op.Mul(m.x, float(2))", "a float");
  const RuleFolder folder;
  auto set = RuleSet::load(
      {folder.write("r.lua",
                    "return rule { match = function(op, x, k) return "
                    "op.mine.f{x, k = float(k)} end, replace = "
                    "function(op, x) return op.Relu(x) end }")},
      {}, {});
  REQUIRE_FALSE(set.ok());
  CHECK(set.error().text().find("keeps the kind of that attribute") !=
        std::string::npos);
}

}  // namespace
}  // namespace ruleengine::lua
