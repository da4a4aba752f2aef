// Parts of a pass, each a transaction of its own.
#include "bindings/lua/callbacks/callback_words.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

constexpr std::string_view kAttemptModel =
    "(float[2,3] x) => (float[2,3] y) "
    "{ a = Neg(x) b = Neg(a) c = Relu(b) y = Neg(c) }";

// Runs `before` once, then `body` for each Neg, n.
RuleRunner of_each(std::string_view body, std::string_view before = "") {
  return RuleRunner("pass = function(graph, op) " + std::string(before) +
                        " for i, n in ipairs(graph:nodes 'Neg') do "
                        "attempt(n, function() " +
                        std::string(body) + " end) end end",
                    kAttemptModel);
}

constexpr std::string_view kAbs =
    "n.outputs[1]:replace_with(op.Abs(n.inputs[1]))";

TEST_CASE("a rejected attempt does not affect the others") {
  std::string body(kAbs);
  body += " need(i ~= 2, 'not the second', n)";
  RuleRunner runner = of_each(body);
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK(out.fired);
  CHECK(out.reason() == "not the second");
  CHECK(runner.ops() == "Abs Neg Relu Abs");
}

TEST_CASE("the check of built nodes rejects an attempt too") {
  RuleRunner runner = of_each(
      "local x = n.inputs[1] n.outputs[1]:replace_with(i ~= 2 and op.Abs(x) "
      "or op.Cast{x, to = 7})");
  const Attempted out = runner.pass();
  CHECK(out.reason() == "wrong type of the result");
  CHECK(runner.ops() == "Abs Neg Relu Abs");
}

TEST_CASE("need ends its own attempt, even inside a pcall") {
  RuleRunner runner =
      of_each("pcall(function() need(false, 'no') end) error('it went on')");
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK_FALSE(out.fired);
  CHECK(out.reason() == "no");
}

TEST_CASE("nodes of one attempt are unknown to the next") {
  RuleRunner runner =
      of_each("if kept.v then op.Relu(kept.v) end kept.v = op.Abs(n.inputs[1])",
              "local kept = {}");
  CHECK(runner.pass().what() == "a value was kept from an earlier callback");
}

TEST_CASE("nodes that an earlier attempt removed are gone") {
  RuleRunner runner = of_each(
      "n.outputs[1]:replace_with(op.Abs(n.inputs[1])) "
      "if i == 2 then op.Abs(first.inputs[1]) end",
      "local first = graph:nodes 'Neg'[1]");
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK(out.reason() == "a node is no longer in the graph");
  CHECK(runner.ops() == "Abs Neg Relu Abs");
}

TEST_CASE("handles are the same inside and outside") {
  RuleRunner runner = of_each("assert(known[n.inputs[1]] or i == 3)",
                              "local known = {} known[graph.inputs[1]] = true "
                              "known[graph:nodes 'Neg'[1].outputs[1]] = true");
  CHECK(runner.pass().what() == "");
}

TEST_CASE("mistakes") {
  CHECK(of_each("error('mine')").pass().what() == "mine");
  CHECK(of_each("\nreturn op.Abs(n)\n").pass().error->where.ends_with(":2"));
  CHECK(of_each("attempt(n, function() end)").pass().what() ==
        "an `attempt` inside another `attempt`");
  CHECK(of_each("", "op.Abs(graph.inputs[1])").pass().what() ==
        "the pass built or assumed something before an `attempt`");
  RuleRunner nothing(
      "pass = function(graph) attempt(graph:nodes 'Relu'[1]) end",
      kAttemptModel);
  CHECK(nothing.pass().what() == "argument 2 of `attempt` is not a function");
  RuleRunner elsewhere(
      "match = function(op, x) return op.Relu(x) end,\n"
      "rewrite = function(op, m) attempt(m.x.producer, function() end) "
      "return op.Abs(m.x) end",
      kAttemptModel);
  CHECK(elsewhere.attempt().what() == "`attempt` works only in `pass`");
}

}  // namespace
}  // namespace ruleengine::lua
