// The word `assume`.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/rewrite/driver.h"
#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

constexpr std::string_view kAssumeModel =
    "(float[2,3] x, float[2,3] z) => (float[2,3] y) "
    "{ a = Add(x, z) y = Relu(a) }";

std::string rule(std::string_view where, std::string_view rewrite = "") {
  return "match = function(op, x, z) return op.Relu(op.Add(x, z):as 'sum') end,"
         "where = function(m) " +
         std::string(where) +
         " end,"
         "rewrite = function(op, m) " +
         std::string(rewrite) + " return op.Neg(m.x) end";
}

// "text (value); " for each assumption, or the error.
std::string told(std::string_view text) {
  RuleRunner runner(text, kAssumeModel);
  const Attempted out = runner.attempt();
  if (out.error) return out.error->what;
  if (out.rejection) return "rejected: " + out.rejection->reason;
  std::string all;
  for (const auto& [said, value] : out.assumptions) {
    all += said + " (" + value + "); ";
  }
  return all;
}

TEST_CASE("assume(text, culprit) is data of the match") {
  CHECK(told(rule("")).empty());
  CHECK(told(rule("assume('x is small', m.x)")) ==
        "x is small ('x' float[2,3]); ");
  CHECK(told(rule("assume 'alone'")) == "alone (); ");
  CHECK(told(rule("assume('first', m.sum)", "assume('second', m.x.dtype)")) ==
        "first (Add node of output 'a'); second (float); ");
}

TEST_CASE("the same sentence is one assumption") {
  CHECK(told(rule("assume('again', m.x) assume('again', m.z)")) ==
        "again ('x' float[2,3]); ");
}

TEST_CASE("it returns nothing, and does not end the match") {
  CHECK(told(rule("assert(select('#', assume('on')) == 0)")) == "on (); ");
  CHECK(told(rule("assume('on') need(false, 'later')")) == "rejected: later");
}

TEST_CASE("it works in `together`, and in a `pass`") {
  CHECK(told("match = function(op, x) return op.Relu(x) end, "
             "where = function(m) assume('one') end, "
             "together = function(m) assume('two') return 'k' end, "
             "rewrite = function(op, ms) return {op.Neg(ms[1].x)} end") ==
        "one (); two (); ");
  RuleRunner runner(
      "pass = function(graph, op) for _, n in ipairs(graph:nodes{op = 'Relu'}) "
      "do "
      "attempt(n, function() assume('here') "
      "n.outputs[1]:replace_with(op.Neg(n.inputs[1])) end) end end",
      kAssumeModel);
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK(out.assumptions == std::vector<rewrite::Assumption>{{"here", ""}});
}

TEST_CASE("only a short sentence is accepted") {
  const char* const wrong = "`assume` wants a short sentence";
  CHECK(told(rule("assume()")) == wrong);
  CHECK(told(rule("assume(3)")) == wrong);
  CHECK(told(rule("assume('')")) == wrong);
  CHECK(told(rule("assume(('x'):rep(201))")) == wrong);
  CHECK(told(rule("assume(('x'):rep(200))")).size() > 200);
}

TEST_CASE("a sentence may not differ from match to match") {
  CHECK(told(rule("for i = 1, 16 do assume('not ' .. i) end")).size() > 16);
  CHECK(told(rule("for i = 1, 17 do assume('not ' .. i) end")) ==
        "`assume` gets too many different sentences");
  CHECK(told(rule("", "for i = 1, 1e9 do assume('not ' .. i) end")) ==
        "`assume` gets too many different sentences");
}

TEST_CASE("it is refused while a file is loaded") {
  const RuleFolder folder;
  const auto set =
      RuleSet::load({folder.write("r.lua",
                                  "return rule {match = function(op, x) "
                                  "assume 'early' return op.Relu(x) end, "
                                  "rewrite = function(op, m) return m.x end}")},
                    {}, {});
  REQUIRE_FALSE(set.ok());
  CHECK(set.error().what == "`assume` works only in `where` and `rewrite`");
}

TEST_CASE("a pass assumes inside an attempt, not before it") {
  RuleRunner runner(
      "pass = function(graph, op) assume('all') for _, n in "
      "ipairs(graph:nodes{op = 'Relu'}) do attempt(n, function() end) end end",
      kAssumeModel);
  CHECK(runner.pass().what() ==
        "the pass built or assumed something before an `attempt`");
}

}  // namespace
}  // namespace ruleengine::lua
