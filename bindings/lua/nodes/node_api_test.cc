// The node API, in callbacks and in `pass`.
#include "bindings/lua/nodes/node_api.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

constexpr std::string_view kNodeApiModel =
    "(float[2,3] x) => (float[2,3] y) <float[3] s = {1,1,1}> "
    "{ a = Relu(x) n = LayerNormalization <epsilon = 0.5> (a, s) "
    "[last] y = Softmax(n) }";

Attempted where(std::string_view body) {
  RuleRunner runner(
      "match = function(op, x, s) return op.LayerNormalization{op.Relu(x):as "
      "'relu', s, attrs = any}:as 'norm' end,\n"
      "where = function(m) local n, g = m.norm, m.graph " +
          std::string(body) +
          " end,\nrewrite = function(op, m) return m.norm:with(m.x) end",
      kNodeApiModel);
  return runner.attempt();
}

void node_holds(std::string_view body) {
  CAPTURE(body);
  const Attempted out = where(body);
  CHECK(out.what() == "");
  CHECK(out.fired);
}

TEST_CASE("nodes: op, names, inputs, outputs, attributes") {
  node_holds("assert(n.op == 'LayerNormalization' and n.domain == '')");
  node_holds("assert(#n.inputs == 2 and n.inputs[2] == m.s)");
  node_holds("assert(n.inputs.Scale == m.s and n.inputs.B == nil)");
  node_holds("assert(n.inputs.X.producer == m.relu)");
  node_holds("assert(n.attrs.epsilon == 0.5 and n.attrs.axis == -1)");
  node_holds("assert(n.outputs[1].users[1].op == 'Softmax')");
  node_holds("assert(n.outputs[1].users[1].name == 'last' and n.name == '')");
  node_holds("assert(n == n.outputs[1].producer and n ~= m.relu)");
  CHECK(where("return n.inputs.Scael").what() ==
        "LayerNormalization has no input 'Scael'");
  CHECK(where("local e = n.inputs.epsilon").error->hint ==
        "'epsilon' is an attribute of LayerNormalization");
  CHECK(where("local s = n.attrs.Scale").error->hint ==
        "'Scale' is input 2 of LayerNormalization, which is given by its "
        "place");
  const Attempted out = where("return n.attrs.epsilom");
  CHECK(out.what() == "LayerNormalization has no attribute 'epsilom'");
  CHECK(out.error->hint == "did you mean 'epsilon'?");
}

TEST_CASE("Transpose without perm reverses") {
  RuleRunner runner(
      "match = function(op, x) "
      "return op.Transpose{x, attrs = any}:as 't' end,\n"
      "where = function(m) local p = m.t.attrs.perm "
      "assert(#p == 3 and p[1] == 2 and p[3] == 0) end,\n"
      "rewrite = function(op, m) return op.Transpose{m.x, perm = {2, 1, 0}} "
      "end",
      "(float[2,3,4] x) => (float[4,3,2] y) { y = Transpose(x) }");
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
}

TEST_CASE("a node with subgraphs cannot be rebuilt") {
  RuleRunner runner(
      "match = function(op, c) return op.Neg(op.If{c, attrs = any}:as 'n') "
      "end,\n"
      "rewrite = function(op, m) return op.Neg(m.n:with(m.c)) end",
      "(bool c, float[2] x) => (float[2] y) { "
      "i = If (c) <then_branch = t () => (float[2] a) { a = Abs(x) }, "
      "else_branch = e () => (float[2] b) { b = Neg(x) }> y = Neg(i) }");
  CHECK(runner.attempt().reason() ==
        "a node with subgraphs cannot be built again");
}

TEST_CASE("the graph: nodes, inputs, outputs") {
  node_holds("assert(#g:nodes() == 3 and #g:nodes 'Relu' == 1)");
  node_holds("assert(g:nodes{op = 'Softmax', domain = ''}[1].name == 'last')");
  node_holds("assert(#g:nodes{domain = 'ai.onnx'} == 3 and #g:nodes 'X' == 0)");
  node_holds("assert(g.inputs[1] == m.x and g.outputs[1].name == 'y')");
  CHECK(where("g:nodes{opp = 'x'}").what() ==
        ":nodes takes `op` and `domain`, both strings");
}

TEST_CASE("nodes of older opsets read as the newest") {
  RuleRunner runner(
      "match = function(op, x) return op.Neg(x):as 'neg' end,\n"
      "where = function(m) for _, n in ipairs(m.graph:nodes()) do\n"
      "if n.op == 'Unsqueeze' then assert(n.inputs.axes:constant()[1] == 1)"
      " m.u = n end\n"
      "if n.op == 'Softmax' then assert(n.attrs.axis == -1) end end end,\n"
      "rewrite = function(op, m) return op.Abs(m.x) end",
      "<ir_version: 7, opset_import: [\"\": 11]> g (float[2,3] x) => "
      "(float[2,1,3] y, float[2,3] z) { u = Unsqueeze <axes = [1]> (x) "
      "y = Neg(u) z = Softmax <axis = 1> (x) }");
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.reason() == "");
  CHECK(out.fired);
}

constexpr std::string_view kPass =
    "(float[2,3] x) => (float[2,3] y) "
    "{ a = Relu(x) b = Neg(a) c = Neg(a) y = Add(b, c) }";

TEST_CASE("pass: replace_with and replace_input") {
  RuleRunner one(
      "pass = function(graph) local negs = graph:nodes 'Neg' "
      "if #negs == 2 then "
      "negs[2].outputs[1]:replace_with(negs[1].outputs[1]) end end",
      kPass);
  CHECK(one.pass().fired);
  CHECK(one.ops() == "Relu Neg Add");
  CHECK_FALSE(one.pass().fired);  // nothing left to change
  RuleRunner two(
      "pass = function(graph, op) local add = graph:nodes 'Add'[1] "
      "add:replace_input(add.inputs[1], op.Abs(graph.inputs[1])) "
      "end",
      kPass);
  const Attempted out = two.pass();
  CHECK(out.what() == "");
  CHECK(out.fired);
  CHECK(two.ops().find("Abs") != std::string::npos);
}

TEST_CASE("pass: mistakes and rejections") {
  RuleRunner one(
      "pass = function(graph) local add = graph:nodes 'Add'[1] "
      "add:replace_input(graph.inputs[1], add.inputs[1]) end",
      kPass);
  CHECK(one.pass().what() == "the node does not read the old input");
  RuleRunner two("pass = function(graph) need(false, 'not here') end", kPass);
  const Attempted out = two.pass();
  CHECK_FALSE(out.fired);
  CHECK(out.what() == "");
  CHECK(out.reason() == "not here");
  RuleRunner three("pass = function(graph, op) op.Abs(graph.inputs[1]) end",
                   kPass);
  CHECK_FALSE(three.pass().fired);  // built, but not read
}

TEST_CASE("replace_input takes a node and two values") {
  const auto said = [](const std::string& call) {
    RuleRunner runner(
        "pass = function(graph) local add = graph:nodes 'Add'[1] "
        "local a, b = add.inputs[1], add.inputs[2] " +
            call + " end",
        kPass);
    return runner.pass();
  };
  Attempted out = said("add.replace_input(a, a, b)");
  CHECK(out.what() == "a method of a node is called without the object");
  out = said("add:replace_input(3, b)");
  CHECK(out.what() == "the old input is not a value");
  out = said("add:replace_input(a, 3)");
  CHECK(out.what() == "the new input is not a value");
  CHECK(said("add:replace_input(a, b)").what() == "");
}

TEST_CASE("when decides whether the rule takes part") {
  const auto enabled = [](const char* body) {
    RuleRunner runner(
        "options = {on = true}, when = function(graph, options) " +
            std::string(body) +
            " end,\n"
            "match = function(op, x) return op.Relu(x) end,\n"
            "rewrite = function(op, m) return m.x end",
        kPass);
    return runner.rule().enabled(runner.graph(), runner.facts());
  };
  CHECK(*enabled("return options.on and #graph:nodes 'Neg' == 2"));
  CHECK_FALSE(*enabled("return graph:nodes 'Conv'[1]"));
  CHECK(enabled("error 'x'").error().what == "x");
}

}  // namespace
}  // namespace ruleengine::lua
