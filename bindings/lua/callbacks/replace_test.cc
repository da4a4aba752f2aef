// Pattern and replacement as two functions: rule{match, replace} and
// replace_pattern. The ids name the behaviours that each case tests.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

// The two layers of the guide to replacing patterns.
constexpr std::string_view kLayers =
    "(float[3,5] x) => (float[3,1] y) "
    "<float[5,2] w1 = {1,2,3,4,5,6,7,8,9,10}, float[2] b1 = {1,2}, "
    "float[2,1] w2 = {1,2}, float[1] b2 = {1}> "
    "{ [fc1] h = Gemm(x, w1, b1) [tanh] t = Tanh(h) "
    "[fc2] o = Gemm(t, w2, b2) [sigmoid] y = Sigmoid(o) }";

constexpr const char* kPattern =
    "function(op, v) return op.Tanh(op.Gemm{v, any, any, attrs = any}"
    ":as 'linear'):as 'activation' end";

std::string pass(std::string_view body) {
  return "changes_meaning = true,\npass = function(graph, op)\n" +
         std::string(body) + " end";
}

std::string replaced(std::string_view pattern, std::string_view replacement,
                     std::string_view then = "") {
  return pass("local found = replace_pattern(graph, " + std::string(pattern) +
              ",\n" + std::string(replacement) + ")\n" + std::string(then));
}

TEST_CASE(
    "S2.1 S2.3 S2.4 two functions of the same inputs, whatever the names") {
  RuleRunner runner(
      replaced(kPattern,
               "function(op, v) return op.Relu(op.Gemm{v, any, any, "
               "attrs = any}:as 'linear') end"),
      kLayers);
  CHECK(runner.pass().fired);
  CHECK(runner.ops() == "Gemm Relu Gemm Sigmoid");
}

TEST_CASE("a class of ops keeps the op that matched") {
  const std::string pattern =
      "function(op, v, s) return op.elementwise_unary(op.Reshape(v, s))"
      ":as 'f' end";
  const std::string model =
      "(float[2,3] x) => (float[6] y) <int64[1] s = {6}> "
      "{ a = Reshape(x, s) y = LeakyRelu <alpha = 0.5> (a) }";
  RuleRunner runner(replaced(pattern,
                             "function(op, v, s) return op.Reshape("
                             "op.elementwise_unary(v):as 'f', s) end"),
                    model);
  CHECK(runner.pass().fired);
  CHECK(runner.ops() == "LeakyRelu Reshape");
  RuleRunner wrong(replaced(pattern,
                            "function(op, v, s) return op.Reshape("
                            "op.elementwise_unary(v), s) end"),
                   model);
  CHECK(wrong.pass().what() == "a new node cannot be elementwise_unary");
}

TEST_CASE("S2.2 the matches are returned, with anchor and nodes") {
  const std::string then =
      "assert(#found == 1) local m = found[1]\n"
      "assert(m.anchor.name == 'tanh' and m.nodes.activation == m.anchor)\n"
      "assert(m.nodes.linear.name == 'fc1' and #m.nodes == 2)\n"
      "assert(m.values.v.name == 'x')\n"
      "assert(#replace_pattern(graph, function(op, x) return op.Cos(x) end, "
      "function(op, x) return op.Sin(x) end) == 0)";
  RuleRunner runner(
      replaced(kPattern,
               "function(op, v) return op.Relu(op.Gemm{v, any, any, "
               "attrs = any}:as 'linear') end",
               then),
      kLayers);
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK(out.fired);
}

TEST_CASE("S2.5 S2.6 a node of the same name is kept, any other is new") {
  RuleRunner runner(
      replaced(kPattern,
               "function(op, v) return op.Relu(op.Gemm{v, any, any, "
               "attrs = any}:as 'linear'):as 'relu' end"),
      kLayers);
  const ir::NodeId gemm = runner.node("Gemm");
  CHECK(runner.pass().fired);
  const ir::Graph& graph = runner.graph();
  CHECK(runner.node("Gemm") == gemm);
  CHECK(graph.node(gemm).name == "fc1");
  CHECK(graph.name(graph.input(gemm, 1)) == "w1");
  CHECK(graph.name(graph.input(runner.node("Sigmoid"), 0)) == "o");
}

TEST_CASE("S2.5 a kept node may read another value") {
  RuleRunner runner(
      replaced(kPattern,
               "function(op, v) return op.Tanh(op.Gemm{op.Relu(v), any, any, "
               "attrs = any}:as 'linear') end",
               "assert(#found == 1)"),
      kLayers);
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK(out.fired);
  CHECK(runner.ops() == "Relu Gemm Tanh Gemm Sigmoid");
  const ir::Graph& graph = runner.graph();
  CHECK(graph.name(graph.input(runner.node("Gemm"), 2)) != "");
}

TEST_CASE("S2.5 equal calls on both sides are one node") {
  const std::string rule =
      "match = function(op, x, w, b)\n"
      "  return op.Tanh(op.Gemm(x, w, b)) end,\n"
      "replace = function(op, x, w, b)\n"
      "  return op.Relu(op.Gemm(x, w, b)) end";
  RuleRunner runner(rule, kLayers);
  const ir::NodeId gemm = runner.node("Gemm");
  CHECK(runner.attempt().fired);
  CHECK(runner.node("Gemm") == gemm);
  CHECK(runner.ops() == "Gemm Relu Gemm Sigmoid");
}

// softmax(x / 8), and patterns for the 8.
std::string scaled(const char* divisor) {
  return "(float[2,4] x) => (float[2,4] y) <float c = {" +
         std::string(divisor) +
         "}> { d = Div(x, c) y = Softmax <axis = -1> (d) }";
}

TEST_CASE("S2.8 a literal matches an equal constant only") {
  const std::string rule =
      "match = function(op, x) return op.Softmax{op.Div(x, 8), axis = -1} "
      "end,\nreplace = function(op, x) return op.example.Scaled{x, scale = "
      "0.125} end";
  RuleRunner eight(rule, scaled("8"));
  CHECK(eight.attempt().fired);
  CHECK(eight.ops() == "example::Scaled");
  RuleRunner sixteen(rule, scaled("16"));
  CHECK(sixteen.matches().empty());
}

TEST_CASE(
    "S2.9 a captured constant, and a value that `where` computes from it") {
  const std::string rule =
      "match = function(op, x, c) return op.Softmax{op.Div(x, c), axis = -1} "
      "end,\nwhere = function(m) m.scale = 1 / need(m.c:scalar(), 'none') "
      "end,\nreplace = function(op, x, scale) return op.example.Scaled{x, "
      "scale = scale} end";
  RuleRunner runner(rule, scaled("16"));
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.fired);
  const auto* scale = runner.graph().attribute(runner.node("Scaled"), "scale");
  REQUIRE(scale != nullptr);
  CHECK(scale->f == 0.0625F);
}

TEST_CASE("S2.8 S2.9 an ignored literal, and a bound one that is kept") {
  RuleRunner ignored(
      "match = function(op, x) return op.Softmax{op.Div(x, any), axis = -1} "
      "end,\nreplace = function(op, x) return op.Sigmoid(x) end",
      scaled("3"));
  CHECK(ignored.attempt().fired);
  CHECK(ignored.ops() == "Sigmoid");
  RuleRunner bound(
      "match = function(op, x, c) return op.Softmax{op.Div(x, c), axis = -1} "
      "end,\nreplace = function(op, x, c) return op.Mul(x, c) end",
      scaled("3"));
  CHECK(bound.attempt().fired);
  CHECK(bound.ops() == "Mul");
}

TEST_CASE("numbers, lists, absent inputs and several results") {
  RuleRunner runner(
      "match = function(op, x) return op.Relu(x), op.Neg(x) end,\n"
      "replace = function(op, x)\n"
      "  local y = op.Clip(x, nil, 6)\n"
      "  return y, op.Reshape(x, {2, 3}) end",
      "(float[2,3] x) => (float[2,3] a, float[2,3] b) "
      "{ a = Relu(x) b = Neg(x) }");
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.reason() == "");
  CHECK(out.fired);
  CHECK(runner.graph().inputs(runner.node("Clip")).size() == 3);
}

TEST_CASE("a new node with two outputs, and one with strings") {
  RuleRunner two(
      "match = function(op, x) return op.Relu(x), op.Neg(x) end,\n"
      "replace = function(op, x)\n"
      "  local y, z = op.mine.Both{x, outputs = 2}\n"
      "  return z, y end",
      "(float[2] x) => (float[2] a, float[2] b) { a = Relu(x) b = Neg(x) }");
  const Attempted out = two.attempt();
  CHECK(out.what() == "");
  REQUIRE(out.fired);
  const auto outputs = two.graph().outputs(two.node("Both"));
  REQUIRE(outputs.size() == 2);
  CHECK(two.graph().name(outputs[0]) == "b");
  CHECK(two.graph().name(outputs[1]) == "a");
  RuleRunner texts(
      "match = function(op, x) return op.Relu(x) end,\n"
      "replace = function(op, x)\n"
      "  return op.mine.Named{x, names = {'p', 'q'}} end",
      "(float[2] x) => (float[2] y) { y = Relu(x) }");
  CHECK(texts.attempt().what() == "");
  const auto* names = texts.graph().attribute(texts.node("Named"), "names");
  REQUIRE(names != nullptr);
  REQUIRE(names->strings.size() == 2);
  CHECK(names->strings[0] == "p");
  CHECK(names->strings[1] == "q");
}

TEST_CASE("an either in the replacement is the branch that matched") {
  const std::string rule =
      "match = function(op, x, b)\n"
      "  return op.Tanh(maybe(op.Add(x, b), x)) end,\n"
      "replace = function(op, x, b)\n"
      "  return op.Relu(maybe(op.Add(x, b), x)) end";
  RuleRunner with(rule,
                  "(float[2] x, float[2] b) => (float[2] y) "
                  "{ a = Add(x, b) y = Tanh(a) }");
  CHECK(with.attempt().fired);
  CHECK(with.ops() == "Add Relu");
  RuleRunner without(rule, "(float[2] x) => (float[2] y) { y = Tanh(x) }");
  CHECK(without.attempt().fired);
  CHECK(without.ops() == "Relu");
}

TEST_CASE("reading a variable of another branch is an error that names it") {
  const std::string rule =
      "match = function(op, x, b)\n"
      "  return op.Tanh(maybe(op.Add(x, b), x)) end,\n"
      "replace = function(op, x, b) return op.Sub(x, b) end";
  RuleRunner without(rule, "(float[2] x) => (float[2] y) { y = Tanh(x) }");
  const Attempted out = without.attempt();
  CHECK(out.what() == "input 'B' of Sub is required");
  CHECK(out.error->hint.find("m.b") != std::string::npos);
  CHECK(out.error->where.find("r.lua:3") != std::string::npos);
}

TEST_CASE(
    "S2.13 all matches are replaced, each node once; shared values stay") {
  RuleRunner runner(
      replaced("function(op, x) return op.Neg(op.Neg(x)) end",
               "function(op, x) return op.Abs(x) end", "assert(#found == 2)"),
      "(float[2] x) => (float[2] y, float[2] z) "
      "{ s = Sqrt(x) a = Neg(s) y = Neg(a) b = Neg(y) c = Neg(b) "
      "z = Relu(c) }");
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK(out.fired);
  CHECK(runner.ops() == "Sqrt Abs Abs Relu");
}

TEST_CASE("S2.14 an opaque function is one node; its body is not matched") {
  constexpr std::string_view kModel =
      "<ir_version: 10, opset_import: [\"\" : 21, \"own\" : 1]> "
      "g (float[2] x) => (float[2] y) { t = own.half(x) y = Relu(t) } "
      "<domain: \"own\", opset_import: [\"\" : 21]> "
      "half (v) => (r) { t = Tanh(v) r = Relu(t) }";
  RuleRunner runner(
      replaced("function(op, x) return op.Relu(op.own.half(x)) end",
               "function(op, x) return op.own.whole(op.own.half(x)) end",
               "assert(#found == 1)"),
      kModel);
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK(out.fired);
  CHECK(runner.ops() == "own::half own::whole");
}

TEST_CASE("S2.23 an inner value with other readers prevents a match") {
  RuleRunner runner(
      replaced(kPattern, "function(op, v) return op.Relu(v) end",
               "assert(#found == 0)"),
      "(float[3,5] x) => (float[3,2] y, float[3,2] h) "
      "<float[5,2] w = {1,2,3,4,5,6,7,8,9,10}, float[2] b = {1,2}> "
      "{ h = Gemm(x, w, b) y = Tanh(h) }");
  const Attempted out = runner.pass();
  CHECK(out.what() == "");
  CHECK_FALSE(out.fired);
}

TEST_CASE("S2.24 the order of operands matters, except for sums") {
  const std::string rule =
      "match = function(op, a, b) return op.Relu(op.Sub(op.Add(a, b), b)) "
      "end,\nreplace = function(op, a, b) return op.Abs(a) end";
  const auto fits = [&](std::string_view sub, std::string_view add) {
    RuleRunner runner(rule, "(float[2] x, float[2] z) => (float[2] y) { a = " +
                                std::string(add) + " s = " + std::string(sub) +
                                " y = Relu(s) }");
    return !runner.matches().empty();
  };
  CHECK(fits("Sub(a, z)", "Add(x, z)"));
  CHECK(fits("Sub(a, z)", "Add(z, x)"));
  CHECK_FALSE(fits("Sub(z, a)", "Add(x, z)"));
}

TEST_CASE("a replacement of another type is rejected, as for rewrite") {
  RuleRunner runner(
      "match = function(op, x) return op.Tanh(x) end,\n"
      "replace = function(op, x) return op.Shape(x) end",
      "(float[2] x) => (float[2] y) { y = Tanh(x) }");
  CHECK(runner.attempt().reason() != "");
}

// --- errors at load ---

Diagnostic refused(std::string_view rule) {
  const RuleFolder folder;
  auto set = RuleSet::load(
      {folder.write("r.lua", "return rule {\n" + std::string(rule) + "}")}, {},
      {});
  REQUIRE_FALSE(set.ok());
  return set.error();
}

Diagnostic refused_replacement(std::string_view replacement) {
  return refused(
      "match = function(op, x) return op.Tanh(x):as 't' end,\n"
      "replace = " +
      std::string(replacement));
}

TEST_CASE("a replacement that cannot be built is refused at load") {
  Diagnostic error = refused_replacement("function(op, z) return z end");
  CHECK(error.what ==
        "parameter 'z' of `replace` is no parameter of `match`, and `where` "
        "does not assign it");
  CHECK(error.where.ends_with("r.lua:3"));
  CHECK(refused_replacement("function(op, x) return op.Add(x, any) end").what ==
        "an input of a new node is `any`");
  CHECK(refused_replacement("function(op, x) return op.Relu(x), x end").what ==
        "the replacement and its pattern return different numbers of results");
  CHECK(refused_replacement("function(op, x) end").what ==
        "`replace` returns nothing");
  CHECK(
      refused_replacement("function(op, x) return op.Gelu{x, attrs = any} end")
          .what == "a new Gelu cannot contain `any`");
  error = refused_replacement("function(op, x) return op.Relu(x):as 't' end");
  CHECK(error.what == "'t' has a different op in the replacement");
  CHECK(error.expected == "Tanh");
  CHECK(error.found == "Relu");
  CHECK(refused_replacement("function(op, x) return op.Rleu(x) end").hint ==
        "did you mean 'Relu'?");
  CHECK(refused("match = function(op, x) return op.Tanh(x) end,\n"
                "where = function(m) m.z = 1 end,\n"
                "replace = function(op, x, z) return op.Add(x, z.T) end")
            .what ==
        "an input of a new node is a word that only works in `match`");
  CHECK(
      refused_replacement("function(op, x) x:shape 'A B' return op.Relu(x) end")
          .what == "`replace` states a condition");
  CHECK(refused_replacement(
            "function(op, x) return either(op.Relu(x), op.Neg(x)) end")
            .what.starts_with("a result of a replacement is an `either`"));
  CHECK(refused_replacement(
            "function(op, x) return op.Neg(context(op.Relu(x))) end")
            .what ==
        "an input of a new node is a `context` that the pattern does not have");
}

TEST_CASE("an endless replacement is refused") {
  const auto chain = [](const char* count) {
    return "function(op, x) for i = 1, " + std::string(count) +
           " do x = op.Add(x, x) end return x end";
  };
  CHECK(refused_replacement(chain("1200")).what ==
        "the replacement is too large");
  CHECK(refused_replacement(chain("1e6")).what != "");
  RuleRunner deep("match = function(op, x) return op.Tanh(x) end,\nreplace = " +
                      chain("900"),
                  "(float[2] x) => (float[2] y) { y = Tanh(x) }");
  CHECK(deep.attempt().fired);
}

TEST_CASE("keys that exclude each other") {
  const std::string match = "match = function(op, x) return op.Tanh(x) end,\n";
  const std::string replace =
      "replace = function(op, x) return op.Relu(x) end,\n";
  CHECK(refused(match + replace + "rewrite = function(op, m) return m.x end")
            .what == "a rule has both `replace` and `rewrite`; give one");
  CHECK(refused(match + replace + "together = function(m) return 1 end").what ==
        "`together` needs `rewrite`, not `replace`");
  CHECK(refused(replace + "pass = function(graph) end").what ==
        "`replace` without `match`");
}

TEST_CASE("replace_pattern names the arguments that it expects") {
  const auto what = [](std::string_view body) {
    RuleRunner runner(pass(body), kLayers);
    return runner.pass().what();
  };
  CHECK(what("replace_pattern(op, 1, 2)")
            .starts_with("argument 1 of replace_pattern is not a graph"));
  CHECK(what("replace_pattern(graph, 1, 2)") ==
        "the pattern of replace_pattern is not a function");
  CHECK(what("replace_pattern(graph, function(op, x) return op.Tanh(x) end, "
             "function(op, z) return z end)") ==
        "the replacement has a parameter 'z' that the pattern does not have");
  CHECK(what("replace_pattern(graph, function(op, x) return op.Tnah(x) end, "
             "function(op, x) return x end)") == "no op 'Tnah'");
  CHECK(what("replace_pattern(graph, function(op, x) return op.Tanh(x) end, "
             "function(op, x) replace_pattern(graph, function(op, x) "
             "return op.Relu(x) end, function(op, x) return op.Neg(x) end) "
             "return op.Neg(x) end)") ==
        "`replace_pattern` works only in `pass`");
  RuleRunner elsewhere(
      "match = function(op, x) return op.Tanh(x) end,\n"
      "where = function(m) replace_pattern(m.graph) end,\n"
      "rewrite = function(op, m) return op.Relu(m.x) end",
      kLayers);
  CHECK(elsewhere.attempt().what() == "`replace_pattern` works only in `pass`");
}

}  // namespace
}  // namespace ruleengine::lua
