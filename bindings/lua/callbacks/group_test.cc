// `together`: keys, and rewriting several matches as one.
#include <doctest/doctest.h>

#include <string>

#include "core/text/equivalent.h"
#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

constexpr std::string_view kThree =
    "(float[2,3] x) => (float[2,4] a, float[2,5] b, float[2,4] c) "
    "<float[3,4] u = {1,2,3,4,5,6,7,8,9,10,11,12},"
    " float[3,5] v = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15},"
    " float[3,4] w = {0,0,0,0,1,1,1,1,2,2,2,2}> "
    "{ a = MatMul(x, u) b = MatMul(x, v) c = MatMul(x, w) }";

// The rule of RULES.md.
constexpr std::string_view kGroupMerge = R"(
  doc = [[ x w1, x w2, ...   =>   Split(x [w1 w2 ...]) ]],
  match    = function(op, x, w) w:const "K N"; return op.MatMul(x, w) end,
  together = function(m) return m.x, m.w.dtype end,
  rewrite  = function(op, ms)
    local w = op.Concat{ms:all "w", axis = 1}
    return op.Split{op.MatMul(ms[1].x, w), ms:all "N", axis = -1, outputs = #ms}
  end)";

TEST_CASE("products that share a source become one") {
  RuleRunner runner(kGroupMerge, kThree);
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.reason() == "");
  CHECK(out.fired);
  CHECK(runner.ops() == "MatMul Split");
  CHECK(runner.keys[0] == runner.keys[1]);
  const ir::NodeId split = runner.node("Split");
  CHECK(runner.graph().name(runner.graph().output(split, 1)) == "b");
  const ir::ValueId sizes = runner.graph().input(split, 1);
  CHECK(*ir::to_ints(*runner.facts().constant(sizes), nullptr, 3) ==
        std::vector<std::int64_t>{4, 5, 4});
}

// What `rewrite` of three Relu(x), Relu(y), Relu(x) returns.
Attempted three(std::string_view rewrite, std::string_view together = "") {
  RuleRunner runner(
      "match = function(op, x) return op.Relu(x) end,\n"
      "together = function(m) return " +
          std::string(together.empty() ? "1" : together) +
          " end,\n"
          "rewrite = function(op, ms) " +
          std::string(rewrite) + " end",
      "(float[2] x, float[2] y) => (float[2] a, float[2] b, float[2] c) "
      "{ a = Relu(x) b = Relu(y) c = Relu(x) }");
  return runner.attempt();
}

TEST_CASE("one result, or one table, for each match") {
  CHECK(three("local n = op.Neg(ms[1].x) return n, op.Abs(ms[2].x), n").fired);
  CHECK(three("local l = {} for i = 1, #ms do l[i] = op.Neg(ms[i].x) end "
              "return l")
            .fired);
  CHECK(three("local l = {} for i = 1, #ms do l[i] = {op.Neg(ms[i].x)} end "
              "return l")
            .fired);
  CHECK(three("local n = op.Neg(ms[1].x) return {n}, {n}, {n}").fired);
  CHECK(three("local l = {} for i, m in ipairs(ms) do l[i] = op.Neg(m.x) end "
              "return l")
            .fired);
  const Attempted out = three("return ms[1].x, ms[2].x");
  CHECK(out.what() == "`rewrite` returns the wrong number of results");
  CHECK(out.error->expected == "one for each of 3 matches");
}

TEST_CASE("ms: places, length, lists of names") {
  CHECK(three("assert(#ms == 3 and ms[4] == nil and ms[0] == nil) "
              "assert(ms:all('x')[2] == ms[2].x and ms.graph.inputs[1]) "
              "return op.Max(ms:all 'x'), ms[1].x, ms[1].x")
            .fired);
  CHECK(three("return ms:al 'x'").what() ==
        "a list of matches has no field 'al'");
  CHECK(three("return ms.all(ms, 'y')").error);
}

TEST_CASE("keys") {
  const auto keys = [](const char* together) {
    RuleRunner runner(
        "match = function(op, x) return op.Relu(x):as 'n' end,\n"
        "together = function(m) return " +
            std::string(together) +
            " end,\n"
            "rewrite = function(op, ms) local n = op.Neg(ms[1].x) "
            "return n, n, n end",
        "(float[S,2] x, float[T,2] y, float[] z) => (float[S,2] a, "
        "float[T,2] b, float[S,2] c) { a = Relu(x) b = Relu(y) c = Relu(x) }");
    runner.attempt();
    return runner.keys;
  };
  const auto split = [&](const char* together) {
    const auto all = keys(together);
    REQUIRE(all.size() == 3);
    return all[0] == all[2] && all[0] != all[1];
  };
  CHECK(split("m.x"));
  CHECK(split("m.x:dim(0)"));
  CHECK(split("m.x.shape"));
  CHECK(split("tostring(m.x.shape)"));
  CHECK(split("{m.x.dtype, {m.x.name}}"));
  CHECK(split("nil, true, m.x.name == 'x'"));
  const auto equal = keys("m.x.dtype, 1, nil, m.x:dim(1)");
  CHECK(equal[0] == equal[1]);
  // Keys contain the lengths of texts, so that two lists never give one key.
  CHECK(keys("'a', 'b'")[0] != keys("'a;s1:b'")[0]);
  CHECK(three("", "function() end").what().find("cannot be a key") !=
        std::string::npos);
}

TEST_CASE("a constant and its transpose are two keys") {
  const auto key = [](const char* together) {
    RuleRunner runner(
        "match = function(op, x, w) return op.MatMul(x, w) end,\n"
        "together = function(m) return " +
            std::string(together) +
            " end,\n"
            "rewrite = function(op, ms) return ms[1].x end",
        "(float[2,2] x) => (float[2,2] y) <float[2,2] w = {1,2,3,4}> "
        "{ y = MatMul(x, w) }");
    runner.attempt();
    return runner.keys.at(0);
  };
  CHECK(key("m.w") != key("m.w.T"));
  CHECK(key("m.w") == key("m.w.T.T"));
}

TEST_CASE("where runs first, and a key may use what it computed") {
  RuleRunner runner(
      "match = function(op, x) return op.Relu(x) end,\n"
      "where = function(m) m.tag = m.x.name end,\n"
      "together = function(m) return m.tag end,\n"
      "rewrite = function(op, ms) return op.Neg(ms[1].x) end",
      "(float[2] x) => (float[2] a) { a = Relu(x) }");
  CHECK(runner.attempt().fired);
  CHECK(runner.keys[0].find("x") != std::string::npos);
}

}  // namespace
}  // namespace ruleengine::lua
