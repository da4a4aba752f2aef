// Questions about ranks, in callbacks.
#include "bindings/lua/nodes/rank_api.h"

#include <doctest/doctest.h>

#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

constexpr std::string_view kRankApiModel =
    "(float[1,4,8] x) => (float[1,2,8] y, float[1,4,8] z) { "
    "p = tensor_cast.reduce_scatter <dim = 1, rank = 0, rank_group = [0,1]> "
    "(x) "
    "y = tensor_cast.rms_norm(p) "
    "s = tensor_cast.all_reduce <rank = 1, rank_group = [0,1]> (x) "
    "z = tensor_cast.rms_norm(s) }";

TEST_CASE("v.layout is how a value is distributed over the ranks") {
  RuleRunner runner(
      "match = function(op, x) return op.tensor_cast.rms_norm(x):as 'n' end,\n"
      "where = function(m)\n"
      "  local l = m.n.outputs[1].layout\n"
      "  assert(l.placement == 'sharded' and l.axis == 1 and l.ranks[2] == 1)\n"
      "end,\n"
      "rewrite = function(op, m) return m.n:with(m.x) end",
      kRankApiModel);
  CHECK(runner.attempt().what() == "");
}

TEST_CASE("graph:residual_chains finds them") {
  RuleRunner runner(
      "pass = function(graph)\n"
      "  local chains = graph:residual_chains()\n"
      "  assert(#chains == 1 and not chains[1].broken)\n"
      "  local chain = chains[1]\n"
      "  assert(#chain.ranks == 2 and chain.ranks[1] == 0)\n"
      "  assert(chain.sum == chain.nodes[1])\n"
      "  assert(#chain.nodes == 2 and chain.nodes[1].op == 'all_reduce')\n"
      "  assert(chain.axes[chain.nodes[2].outputs[1]] == 1)\n"
      "  assert(#chain.entries == 0)\n"
      "end",
      kRankApiModel);
  CHECK(runner.pass().what() == "");
}

// The result of a pass with this `body`; `norm` is a node of the model.
Attempted asked(const std::string& body) {
  RuleRunner runner(
      "pass = function(graph)\n"
      "  local norm = graph:nodes{op = 'rms_norm'}[1]\n  " +
          body + "\nend",
      kRankApiModel);
  return runner.pass();
}

TEST_CASE("wrong options are named") {
  CHECK(asked("graph:residual_chains(3)").what() ==
        ":residual_chains wants options");
  const Attempted unknown = asked("graph:residual_chains{slice = true}");
  CHECK(unknown.what() == ":residual_chains has no option 'slice'");
  CHECK(unknown.error->hint == "did you mean 'slices'?");
  const Attempted text = asked("graph:residual_chains{slices = 'no'}");
  CHECK(text.what() == "option 'slices' of :residual_chains is true or false");
  CHECK(text.error->found == "the string 'no'");
  CHECK(asked("graph:residual_chains{true}").what() ==
        ":residual_chains gets a value that is not an option");
  CHECK(asked("graph:residual_chains{slices = true}").what() == "");
}

TEST_CASE("a value is replicated if that is proven or assumed") {
  CHECK(asked("local share, whole = norm, graph:nodes{op = 'rms_norm'}[2]\n"
              "assert(not share.outputs[1]:replicated{0, 1})\n"
              "assert(whole.outputs[1]:replicated{0, 1})\n"
              "assert(not whole.outputs[1]:replicated{0, 1, 2})\n"
              "assert(not graph.inputs[1]:replicated{0, 1})\n"
              "assert(not graph.inputs[1].layout)")
            .what() == "");
  const Attempted text = asked("norm.outputs[1]:replicated{0, 'b'}");
  CHECK(text.what() == ":replicated wants the ranks of a group");
  CHECK(text.error->found == "the string 'b'");
  CHECK(asked("norm.outputs[1]:replicated(nil)").what() == text.what());
}

TEST_CASE("v.token_axis is that of [tokens, width] or [batch, tokens, ...]") {
  CHECK(asked("assert(graph.inputs[1].token_axis == 1)\n"
              "assert(norm.outputs[1].token_axis == 1)")
            .what() == "");
  RuleRunner runner(
      "pass = function(graph)\n"
      "  assert(graph.inputs[1].token_axis == 0)\n"
      "  assert(graph.inputs[2].token_axis == nil)\n"
      "end",
      "(float[4,8] x, float[8] w) => (float[4,8] y) { y = Add(x, w) }");
  CHECK(runner.pass().what() == "");
}

TEST_CASE("an axis counts from either end, and is an integer") {
  CHECK(asked("assert(norm:along(1)[1] == 1 and norm:along(-2)[1] == 1)")
            .what() == "");
  CHECK(asked("assert(not norm:along(-1) and not norm:along(4294967297))")
            .what() == "");
  CHECK(asked("assert(not norm:along(3) and not norm:along(-4))").what() == "");
  CHECK(asked("norm:along(1.5)").what() ==
        ":along wants the number of an axis");
  CHECK(asked("norm:along '1'").error->found == "the string '1'");
}

}  // namespace
}  // namespace ruleengine::lua
