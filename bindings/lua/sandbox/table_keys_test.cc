// Of several faults of a table always the same one is reported. Each sandbox
// has its own seed for Lua's hash, so many loads try many orders.
#include "bindings/lua/sandbox/table_keys.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

constexpr int kTimes = 25;
constexpr const char* kTableKeysModel =
    "(float[2] x) => (float[2] y) { y = Relu(x) }";

void check_one_refusal(const std::string& rule, std::string_view part) {
  CAPTURE(rule);
  std::set<std::string> said;
  const RuleFolder folder;
  const std::string file = folder.write("r.lua", "return rule {" + rule + "}");
  for (int i = 0; i < kTimes; ++i) said.insert(names_of(load({file})));
  REQUIRE(said.size() == 1);
  CHECK_MESSAGE(said.begin()->find(part) != std::string::npos, *said.begin());
}

void check_one_error(const std::string& body, std::string_view part) {
  CAPTURE(body);
  std::set<std::string> said;
  for (int i = 0; i < kTimes; ++i) {
    RuleRunner runner(
        "match = function(op, x) return op.Relu(x) end,\n"
        "rewrite = function(op, m) return " +
            body + " end",
        kTableKeysModel);
    said.insert(runner.attempt().what());
  }
  REQUIRE(said.size() == 1);
  CHECK_MESSAGE(said.begin()->find(part) != std::string::npos, *said.begin());
}

TEST_CASE("a pattern with many faults gets one diagnostic") {
  const auto match = [](const std::string& table) {
    return "match = function(op, x) return op.Conv{" + table +
           "} end, rewrite = function(op, m) end";
  };
  check_one_refusal(match("x, any, group = true, auto_pad = true, "
                          "pads = false, strides = {}, dilations = true"),
                    "attribute 'auto_pad' cannot have this value");
  check_one_refusal(match("x, any, [-3] = x, [0] = x, [1.5] = x"),
                    "the number -3");
  check_one_refusal(match("x, any, [true] = x, [op] = x, [{}] = x"),
                    "a boolean");
  check_one_refusal(match("x, any, padz = 1, groop = 1, dilation = 1"),
                    "dilation");
}

TEST_CASE("a built node with many faults gets one diagnostic") {
  check_one_error(
      "op.Conv{m.x, m.x, group = 'a', auto_pad = 1, pads = 'b', "
      "strides = 'c', dilations = 'd'}",
      "auto_pad");
  check_one_error("op.Conv{m.x, m.x, [-3] = m.x, [0] = m.x, [1.5] = m.x}",
                  "no such input");
  check_one_error("op.Conv{m.x, m.x, [true] = 1, [op] = 1, [{}] = 1}",
                  "a key that is not a name");
  check_one_error("m.graph:nodes{opp = 'Add', domaine = '', name = 'x'}",
                  ":nodes takes");
  check_one_error("next{[{}] = 1, [true] = 2, [op] = 1}", "without an order");
}

TEST_CASE("rule tables with many faults get one diagnostic") {
  const std::string good =
      "match = function(op, x) return op.Relu(x) end, "
      "rewrite = function(op, m) end, ";
  check_one_refusal(good + "dok = 1, fase = 2, aftr = 3, wen = 4", "'aftr'");
  check_one_refusal(good +
                        "meta = {['ruleengine.b'] = 1, ['ruleengine.a'] = 1,"
                        " c = {}, d = {}}",
                    "meta");
}

}  // namespace
}  // namespace ruleengine::lua
