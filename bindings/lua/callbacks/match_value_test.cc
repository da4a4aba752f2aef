// m, need and refuse.
#include "bindings/lua/callbacks/match_value.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

constexpr std::string_view kMatchValueModel =
    "(float[2,3] x, float[2,3] z) => (float[2,3] y) "
    "{ a = Add(x, z) y = Relu(a) }";

std::string match_rule(std::string_view where, std::string_view rewrite) {
  return "match = function(op, x, z, s) "
         "  local sum = either(op.Mul(x, s):as 'mul', op.Add(x, z):as 'SUM') "
         "  return op.Relu(sum) end,"
         "options = {gain = 2, name = 'n', on = true},"
         "where = function(m) " +
         std::string(where) +
         " end,"
         "rewrite = function(op, m) " +
         std::string(rewrite) + " end";
}

Attempted attempt_match(std::string_view where,
                        std::string_view rewrite = "return op.Neg(m.x)") {
  RuleRunner runner(match_rule(where, rewrite), kMatchValueModel);
  return runner.attempt();
}

void match_holds(std::string_view where,
                 std::string_view rewrite = "return op.Neg(m.x)") {
  CAPTURE(where);
  const Attempted out = attempt_match(where, rewrite);
  CHECK(out.what() == "");
  CHECK(out.reason() == "");
  CHECK(out.fired);
}

TEST_CASE("m holds what matched, and nil for a branch that was not taken") {
  match_holds("assert(m.x.name == 'x' and m.SUM.op == 'Add')");
  match_holds("assert(m.mul == nil and m.s == nil)");
}

TEST_CASE("an unknown name is an error that suggests the nearest one") {
  const Attempted out = attempt_match("local name = 'SUMM' return m[name]");
  CHECK(out.what() ==
        "m.SUMM is neither a variable of `match` nor set by `where`");
  CHECK(out.error->hint.find("'SUM'") != std::string::npos);
}

TEST_CASE("rewrite sees the values that where computes") {
  match_holds("m.factor = 3 m.list = {1, 2} m.v = m.SUM.inputs[2] m.none = nil",
              "assert(m.factor == 3 and m.list[2] == 2 and m.none == nil) "
              "assert(m.v == m.z) return op.Neg(m.v)");
  // Only another path sets it: nil.
  match_holds("if m.mul then m.extra = 1 end",
              "assert(m.extra == nil) return op.Neg(m.x)");
  CHECK(attempt_match("local n = 'x' m[n] = 1").what() ==
        "m.x is what the match found; it cannot be assigned");
  CHECK(attempt_match("m[1] = 1").what() == "m is assigned by names only");
}

// Chains of sums, products and choices on x, with a record of each step.
Attempted attempt_steps(std::string_view where,
                        std::string_view rewrite = "return op.Neg(m.x)") {
  const std::string text =
      "match = function(op, x, z, c, mask, fill, S)"
      "  local made = many(function(s)"
      "    return either(op.Mul(s, c), op.Add(s, mask:fits 'S _'):as 'sum',"
      "      op.Where(mask, s, fill):as 'choice')"
      "  end, x):as 'steps'"
      "  return op.Sub(made, z) end,"
      "where = function(m) " +
      std::string(where) +
      " end,"
      "rewrite = function(op, m) " +
      std::string(rewrite) + " end";
  RuleRunner runner(text,
                    "(float[2,3] x, float[2,3] z, bool[2,3] b, float[2,3] p)"
                    " => (float[2,3] y) <float k = {2.0}> {"
                    "  r = Where(b, x, k) s = Mul(r, z) t = Add(s, p)"
                    "  y = Sub(t, z) }");
  return runner.attempt();
}

TEST_CASE("many has a record of each step, nil for a branch not taken") {
  const auto steps_hold = [](std::string_view where, std::string_view rewrite) {
    CAPTURE(where);
    const Attempted out = attempt_steps(where, rewrite);
    CHECK(out.what() == "");
    CHECK(out.reason() == "");
    CHECK(out.fired);
  };
  steps_hold(
      "local one, two, three = unpack(m.steps) "
      "assert(#m.steps == 3 and one.choice.op == 'Where') "
      "assert(one.mask.name == 'b' and one.fill:scalar() == 2) "
      "assert(one.c == nil and one.sum == nil) "
      "assert(two.c == m.z and two.mask == nil and two.choice == nil) "
      "assert(three.mask.name == 'p' and three.sum == m.sum[1]) "
      "assert(three.S == 2 and two.S == nil) m.first = one",
      "assert(m.first.mask == m.steps[1].mask and #m.mask == 2) "
      "return op.Neg(m.x)");
  steps_hold(
      "local two = {} for key in pairs(m.steps[2]) do two[key] = true end "
      "assert(two.c and not two.mask and not two.fill)",
      "return op.Neg(m.x)");
}

TEST_CASE("an unknown name of a step is an error with a suggestion") {
  const Attempted slip = attempt_steps("return m.steps[1].maks");
  CHECK(slip.what() == "a step of m.steps has no field 'maks'");
  CHECK(slip.error->hint == "did you mean 'mask'?");
  const Attempted outside = attempt_steps("return m.steps[1].z");
  CHECK(outside.what() == "a step of m.steps has no field 'z'");
  CHECK(outside.error->hint == "it is bound outside of the steps: m.z");
  CHECK(attempt_steps("return m.steps[1][2]").what() ==
        "a step of m.steps has names only");
  CHECK(attempt_steps("return m.steps.mask").what() ==
        "the indices of a list start at 1");
  const Attempted assigned = attempt_steps("m.steps[1].factor = 2");
  CHECK(assigned.what() == "a step of the match cannot be assigned to");
  CHECK(assigned.error->hint == "m.name = x keeps a value for `rewrite`");
}

TEST_CASE("options") {
  match_holds("assert(m.options.gain == 2 and m.options.name == 'n')");
  CHECK(attempt_match("local n = 'gian' return m.options[n]").what() ==
        "the rule has no option 'gian'");
  CHECK(attempt_match("m.options.gain = 3").what() ==
        "options cannot be assigned");
  RuleRunner runner(
      match_rule("assert(m.options.gain == 5)", "return op.Neg(m.x)"),
      kMatchValueModel, {{"r", "gain", "5"}});
  CHECK(runner.attempt().fired);
}

TEST_CASE("need gives its value, or ends the match with reason and culprit") {
  match_holds("assert(need(7, 'r') == 7 and need('a', 'r', m.x) == 'a')");
  const Attempted out =
      attempt_match("need(false, 'not this one', m.x) error 'on'");
  CHECK(out.what() == "");
  CHECK(out.reason() == "not this one");
  CHECK(out.rejection->value == "'x' float[2,3]");
  CHECK(attempt_match("need(nil, 'r', m.SUM)").rejection->value ==
        "Add node of output 'a'");
  CHECK(attempt_match("need(nil, 'r', 'text')").rejection->value == "text");
  CHECK(attempt_match("", "need(false, 'in rewrite') return op.Neg(m.x)")
            .reason() == "in rewrite");
}

TEST_CASE("need cannot be swallowed") {
  const Attempted out =
      attempt_match("pcall(need, false, 'quiet') m.x1 = 1 error 'went on'");
  CHECK(out.what() == "");
  CHECK(out.reason() == "quiet");
  CHECK(attempt_match(
            "local co = coroutine.wrap(function() need(false, 'co') end) "
            "pcall(co) error 'went on'")
            .reason() == "co");
}

TEST_CASE("need without a reason is a mistake") {
  CHECK(attempt_match("need(false)").what() == "`need` wants a reason");
  CHECK(attempt_match("need(false, 3)").what() == "`need` wants a reason");
}

TEST_CASE("refuse warns and continues; the match ends after where") {
  const Attempted out = attempt_match(
      "refuse(true, 'first', m.SUM) refuse(false, 'never', m.SUM) "
      "refuse(true, 'second', m.x) refuse(true, 'third')");
  CHECK(out.what() == "");
  CHECK(out.reason() == "first");
  REQUIRE(out.warnings.size() == 3);
  CHECK(out.warnings[0].message == "Skipping SUM at a: first");
  CHECK(out.warnings[0].node == "a");
  CHECK(out.warnings[0].rule == "r");
  CHECK(out.warnings[1].message == "Skipping y: second");
  CHECK(out.warnings[2].message == "Skipping y: third");
}

TEST_CASE("refuse of a value names the match, not the producer of the value") {
  RuleRunner runner(match_rule("refuse(true, 'first', m.x) "
                               "refuse(true, 'second', m.SUM.outputs[1])",
                               "return op.Neg(m.x)"),
                    "(float[2,3] x, float[2,3] z) => (float[2,3] y) "
                    "{ e = Exp(x) a = Add(e, z) y = Relu(a) }");
  const Attempted out = runner.attempt();
  REQUIRE(out.warnings.size() == 2);
  CHECK(out.warnings[0].message == "Skipping y: first");
  CHECK(out.warnings[1].message == "Skipping SUM at a: second");
  CHECK(out.rejection->value == "'e' float[2,3]");
}

TEST_CASE("refuse is only allowed in where") {
  CHECK(attempt_match("", "refuse(true, 'late') return op.Neg(m.x)").what() ==
        "`refuse` works only in `where`");
}

TEST_CASE("an option named like it does not allow refuse") {
  const Attempted out = attempt_match("refuse(true, 'r', m.SUM, 'wide')");
  CHECK(out.what() == "argument 4 of `refuse` is not true or false");
  REQUIRE(out.error);
  CHECK(out.error->expected == "m.options.wide");
}

TEST_CASE("warnings stay when need ends the match afterwards") {
  const Attempted out = attempt_match("refuse(true, 'w') need(false, 'n')");
  CHECK(out.reason() == "n");
  CHECK(out.warnings.size() == 1);
}

TEST_CASE("errors name file, line and node") {
  const Attempted out = attempt_match("error('broken')");
  CHECK(out.what().find("broken") != std::string::npos);
  CHECK(out.error->kind == ErrorKind::kRule);
  CHECK(out.error->where.find("r.lua:1, at Relu node of output 'y'") !=
        std::string::npos);
}

TEST_CASE("handles are invalid after their callback") {
  RuleRunner runner(
      "match = function(op, x) return op.Relu(x) end,"
      "where = function(m) m.kept = {m.x, m} end,"
      "rewrite = function(op, m) return op.Neg(m.kept[1]) end",
      "(float[2] x) => (float[2] y) { y = Relu(x) }");
  CHECK(runner.attempt().fired);
  // Each callback has its own m.
  const Attempted out = attempt_match("m.self = m", "return op.Neg(m.self.x)");
  CHECK(out.what() == "a match was kept from an earlier callback");
}

TEST_CASE("an upvalue that a callback changes is refused") {
  const auto changed = [&](const std::string& head, const std::string& body) {
    RuleRunner runner(
        "match = function(op, x) return op.Relu(x) end,\n"
        "rewrite = function(op, m) return op.Neg(m.x) end,\n"
        "where = (function() " +
            head +
            "\n"
            "return function(m) " +
            body + " end end)()",
        "(float[2] x) => (float[2] y) { y = Relu(x) }");
    return runner.attempt().what();
  };
  CHECK(changed("local n = 0", "n = n + 1") ==
        "`where` of rule 'r' changes 'n', a local variable outside of it");
  CHECK(changed("local t = {}", "t[1] = m.x.name").find("changes 't'") !=
        std::string::npos);
  CHECK(changed("local t = {a = {b = 1}}", "t.a.b = 2").find("changes 't'") !=
        std::string::npos);
  CHECK(changed("local n = 0 local function count() n = n + 1 end", "count()")
            .find("changes 'n'") != std::string::npos);
  CHECK(changed("local g = coroutine.wrap(function() end)", "local _ = g")
            .find("changes 'g'") != std::string::npos);
  CHECK(changed("local t = {1, nan = 0/0} local s = 'a'",
                "local u = t[1] .. s") == "");
}

TEST_CASE("limits hold in callbacks") {
  SandboxLimits limits;
  limits.callback_seconds = 0.2;
  RuleRunner runner(match_rule("pcall(function() while true do end end)", ""),
                    kMatchValueModel, {}, limits);
  const Attempted out = runner.attempt();
  REQUIRE(out.error);
  CHECK(out.error->kind == ErrorKind::kLimit);
  CHECK(out.what().find("`where` of rule 'r'") != std::string::npos);
}

}  // namespace
}  // namespace ruleengine::lua
