// Builders, n:with, and what rewrite returns.
#include "bindings/lua/nodes/build.h"

#include <doctest/doctest.h>

#include <string>

#include "core/text/equivalent.h"
#include "tests/support/rule_runner.h"

namespace ruleengine::lua {
namespace {

// y = Relu(x) in a graph with more inputs, rewritten by `body`.
std::string building_rule(std::string_view body) {
  return "match = function(op, x) return op.Relu(x):as 'relu' end,\n"
         "rewrite = function(op, m) local g = m.graph local w = g.inputs[2]\n" +
         std::string(body) + " end";
}

struct Case {
  const char* body;
  const char* after;  // nodes
};

void becomes(const Case& c, std::string_view before) {
  CAPTURE(c.body);
  RuleRunner runner(building_rule(c.body), before);
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.reason() == "");
  REQUIRE(out.fired);
  auto model = text::parse_model(before);
  REQUIRE(model.ok());
  auto after = text::parse_after(**model, before, c.after);
  if (!after.ok()) FAIL(after.error().text());
  const auto difference = text::difference(**after, runner.model());
  CHECK(difference.value_or("") == "");
}

Attempted attempt_build(std::string_view body, std::string_view before) {
  RuleRunner runner(building_rule(body), before);
  return runner.attempt();
}

constexpr std::string_view kFloat =
    "(float[2,6] x, float[2,6] w) => (float[2,6] y) { y = Relu(x) }";
constexpr std::string_view kHalf =
    "(float16[2,6] x, float16[2,6] w) => (float16[2,6] y) { y = Relu(x) }";
constexpr std::string_view kBuildSymbolic =
    "(float[B,6] x, float[B,6] w) => (float[B,6] y) { y = Relu(x) }";

TEST_CASE("calls and tables") {
  becomes({"return op.Add(m.x, w)", "y = Add(x, w)"}, kFloat);
  becomes({"return op.Add{m.x, w}", "y = Add(x, w)"}, kFloat);
  becomes({"return op.LeakyRelu{m.x, alpha = 0.5}",
           "y = LeakyRelu <alpha = 0.5> (x)"},
          kFloat);
  becomes({"return op.Clip(m.x, nil, 6)", "y = Clip(x, , hi)"},
          "(float[2,6] x, float[2,6] w) => "
          "(float[2,6] y) <float hi = {6.0}> { y = Relu(x) }");
  becomes({"return op['ai.onnx'].Add(m.x, w)", "y = Add(x, w)"}, kFloat);
}

TEST_CASE("other domains, known and unknown") {
  becomes({"return op.tensor_cast.rms_norm{m.x, epsilon = 1e-5}",
           "y = tensor_cast.rms_norm <epsilon = 1e-5> (x)"},
          kFloat);
  becomes({"return op['com.microsoft'].Gelu(m.x)", "y = com.microsoft.Gelu(x)"},
          kFloat);
  becomes({"return op.mine.f{m.x, n = 2, f = 0.5, s = 'a', l = {1, 2}}",
           "y = mine.f <n = 2, f = 0.5, s = \"a\", l = [1, 2]> (x)"},
          kFloat);
}

TEST_CASE("several outputs, and lists that are spread") {
  becomes({"local a, b = op.Split{m.x, {3, 3}, axis = 1, outputs = 2} "
           "return op.Concat{{b, a}, axis = 1}",
           "a, b = Split <axis = 1> (x, s) y = Concat <axis = 1> (b, a)"},
          "(float[2,6] x, float[2,6] w) => (float[2,6] y) "
          "<int64[2] s = {3, 3}> { y = Relu(x) }");
  becomes({"local l = {m.x, w} return op.Max(l, w)", "y = Max(x, w, w)"},
          kFloat);
  // Without sizes the number of parts is an attribute.
  becomes({"local a, b = op.Split{m.x, axis = 1, outputs = 2} "
           "return op.Concat{{b, a}, axis = 1}",
           "a, b = Split <axis = 1, num_outputs = 2> (x) "
           "y = Concat <axis = 1> (b, a)"},
          kFloat);
}

TEST_CASE("numbers become constants of the type that the op expects") {
  becomes({"return op.Mul(m.x, 2)", "y = Mul(x, c)"},
          "(float16[2,6] x, float16[2,6] w) => (float16[2,6] y) "
          "<float16 c = {2.0}> { y = Relu(x) }");
  becomes({"return op.Reshape(m.x, {2, -1})", "y = Reshape(x, s)"},
          "(float[2,6] x, float[2,6] w) => (float[2,6] y) "
          "<int64[2] s = {2, -1}> { y = Relu(x) }");
  becomes({"return op.Squeeze(op.Unsqueeze(m.x, 0), {0})",
           "u = Unsqueeze(x, a) y = Squeeze(u, a)"},
          "(float[2,6] x, float[2,6] w) => (float[2,6] y) "
          "<int64[1] a = {0}> { y = Relu(x) }");
  becomes({"return op.Where(op.Less(m.x, w), 0, m.x)",
           "l = Less(x, w) y = Where(l, z, x)"},
          "(float[2,6] x, float[2,6] w) => (float[2,6] y) "
          "<float z = {0.0}> { y = Relu(x) }");
  becomes({"return op.Gather{m.x, {1, 0}, axis = 0}",
           "y = Gather <axis = 0> (x, i)"},
          "(float[2,6] x, float[2,6] w) => (float[2,6] y) "
          "<int64[2] i = {1, 0}> { y = Relu(x) }");
  CHECK(attempt_build("return op.mine.f(3)", kFloat).reason() ==
        "the type is unknown for the number that is input 1 of mine::f");
}

TEST_CASE("a number takes the type of an input with the same type variable") {
  RuleRunner runner(
      "match = function(op, a, b) return op.MatMulInteger(a, b) end,\n"
      "rewrite = function(op, m) return op.MatMulInteger(m.a, m.b, 0, 0) end",
      "(uint8[2,3] a, int8[3,2] b) => (int32[2,2] y) "
      "{ y = MatMulInteger(a, b) }");
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  REQUIRE(out.fired);
  const ir::NodeId node = runner.node("MatMulInteger");
  const auto type = [&](std::size_t i) {
    return runner.facts().type(runner.graph().input(node, i))->elem;
  };
  CHECK(type(2) == ir::DataType::kUint8);
  CHECK(type(3) == ir::DataType::kInt8);
}

TEST_CASE("lists of symbolic dimensions are computed, single ones reject") {
  RuleRunner runner(building_rule("return op.Expand(m.x, {m.x:dim(0), 6})"),
                    kBuildSymbolic);
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.fired);
  CHECK(runner.ops() == "Shape Concat Expand");
  CHECK(attempt_build("return op.mine.f{m.x, n = m.x:dim(0)}", kBuildSymbolic)
            .reason() == "n needs dimension B, which is not a known number");
  CHECK(attempt_build("return op.Mul(m.x, m.x:dim(0))", kBuildSymbolic)
            .reason() ==
        "input 'B' of Mul needs dimension B, which is not a known number");
}

TEST_CASE("a size of 0 in a Reshape is 0, not a copy") {
  RuleRunner stays(
      building_rule("local r = op.Reshape(m.x, {m.x:dim(0), 2, 3}) "
                    "return op.Reshape(r, m.x.shape)"),
      kBuildSymbolic);
  CHECK(stays.attempt().what() == "");
  CHECK(stays.ops() == "Reshape Reshape");  // copied, not computed
}

TEST_CASE("Concat of one part is that part") {
  becomes({"return op.Neg(op.Concat{w, axis = 0})", "y = Neg(w)"}, kFloat);
}

TEST_CASE("errors name the line, even of a returned call") {
  RuleRunner runner(
      "match = function(op, x) return op.Relu(x) end,\n"
      "rewrite = function(op, m)\n"
      "  local y = op.Neg(m.x)\n"
      "  return op.LeakyRelu{y, alpha = 'x'}\n"
      "end",
      kFloat);
  const Attempted out = runner.attempt();
  REQUIRE(out.error);
  CAPTURE(out.error->where);
  CHECK(out.error->where.find("r.lua:4, at Relu node") != std::string::npos);
}

TEST_CASE("an equal existing node is returned") {
  becomes({"return op.Abs(w)", "y = Abs(w) z = Identity(y)"},
          "(float[2,6] x, float[2,6] w) => (float[2,6] y, float[2,6] z) "
          "{ y = Relu(x) a = Abs(w) z = Identity(a) }");
}

TEST_CASE("constants fold, also transposed ones") {
  RuleRunner runner(
      "match = function(op, x, w) return op.MatMul(x, w.T) end,\n"
      "rewrite = function(op, m) return op.Gemm{m.x, m.w, transB = 1} end",
      "(float[2,3] x) => (float[2,2] y) "
      "<float[3,2] w = {1,2,3,4,5,6}> { y = MatMul(x, w) }");
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.reason() == "");
  CHECK(runner.ops() == "Gemm");
  const ir::ValueId w = runner.graph().input(runner.node("Gemm"), 1);
  const ir::Literal* t = runner.facts().constant(w);
  REQUIRE(t != nullptr);
  CHECK(t->dims[0] == 2);
  CHECK((*ir::to_doubles(*t, nullptr, 6))[1] == 3);
}

TEST_CASE("with: a copy of the node with some parts changed") {
  const auto with = [](const char* body, const char* after) {
    const std::string_view before =
        "(float[2,3] x, float[2,3] w, float[3] s) => (float[2,3] y) "
        "{ x0 = Abs(x) y = LayerNormalization <epsilon = 0.25> (x0, s) }";
    CAPTURE(body);
    RuleRunner runner(
        "match = function(op, x, s) return op.LayerNormalization{op.Abs(x), s,"
        " attrs = any}:as 'norm' end,\n"
        "rewrite = function(op, m) local w = m.graph.inputs[2] " +
            std::string(body) + " end",
        before);
    const Attempted out = runner.attempt();
    CHECK(out.what() == "");
    REQUIRE(out.fired);
    auto model = text::parse_model(before);
    auto expected = text::parse_after(**model, before, after);
    REQUIRE(expected.ok());
    CHECK(text::difference(**expected, runner.model()).value_or("") == "");
  };
  with("return m.norm:with(w)",
       "y = LayerNormalization <epsilon = 0.25> (w, s)");
  with("return m.norm:with{w, epsilon = 0.5}",
       "y = LayerNormalization <epsilon = 0.5> (w, s)");
  with("return m.norm:with{m.x, axis = 1}",
       "y = LayerNormalization <epsilon = 0.25, axis = 1> (x, s)");
  with("return m.norm:with(w, m.s)",
       "y = LayerNormalization <epsilon = 0.25> (w, s)");
}

// y = Relu(x) with x of that type.
std::string relu_of(const std::string& type) {
  const std::string value = type + "[2]";
  return "(" + value + " x, " + value + " w) => (" + value +
         " y) { y = Relu(x) }";
}

TEST_CASE("a number that its type cannot hold rejects the match") {
  const struct {
    const char* type;
    const char* body;
    const char* value;
  } kCases[] = {
      {"int8", "op.Add(m.x, 300)", "300 as int8, input 'B' of Add"},
      {"uint8", "op.Add(m.x, -1)", "-1 as uint8, input 'B' of Add"},
      {"int64", "op.Add(m.x, 0.5)", "0.5 as int64, input 'B' of Add"},
      {"int64", "op.Add(m.x, 1/0)", "inf as int64, input 'B' of Add"},
      {"uint64", "op.Add(m.x, 2^64)",
       "1.8446744073709552e+19 as uint64, input 'B' of Add"},
      {"float16", "op.Add(m.x, 1e6)", "1000000 as float16, input 'B' of Add"},
      {"float16", "op.Add(m.x, 1e-9)", "1e-09 as float16, input 'B' of Add"},
      {"bfloat16", "op.Add(m.x, 1e39)", "1e+39 as bfloat16, input 'B' of Add"},
      {"float", "op.Add(m.x, -1e39)", "-1e+39 as float, input 'B' of Add"},
      {"bool", "op.And(m.x, 2)", "2 as bool, input 'B' of And"},
      {"float", "op.LeakyRelu{m.x, alpha = 1e39}",
       "1e+39 as float, attribute 'alpha'"},
      {"float", "op.Reshape(m.x, {2, 0.5})",
       "0.5 as int64, input 'shape' of Reshape"},
  };
  for (const auto& each : kCases) {
    CAPTURE(each.body);
    const Attempted out =
        attempt_build("return " + std::string(each.body), relu_of(each.type));
    CHECK(out.what() == "");
    CHECK(out.reason() == "a number does not fit the required type");
    REQUIRE(out.rejection);
    CHECK(out.rejection->value == each.value);
  }
  for (const char* fits : {"0.1", "65504", "1/0", "0/0", "-0.0", "6e-8"}) {
    CAPTURE(fits);
    CHECK(attempt_build("return op.Add(m.x, " + std::string(fits) + ")",
                        relu_of("float16"))
              .reason() == "");
  }
  CHECK(attempt_build("return op.Add(m.x, 2^63)", relu_of("uint64")).reason() ==
        "");
}

TEST_CASE("errors of builders list the valid names") {
  const Attempted op_name =
      attempt_build("local o = op return o.Addd(m.x, w)", kFloat);
  CHECK(op_name.what() == "no op 'Addd'");
  CHECK(op_name.error->hint.find("Add") != std::string::npos);
  const Attempted known =
      attempt_build("local o = op return o.ruleengine.Linar(m.x)", kFloat);
  CHECK(known.what() == "no op 'ruleengine::Linar'");
  CHECK(known.error->hint == "did you mean 'Linear'?");
  const Attempted dotted =
      attempt_build("local o = op return o.a.b.Swish(m.x)", kFloat);
  CHECK(dotted.error->hint ==
        "a domain with a dot is written op[\"com.example\"].Swish");
  const Attempted attribute =
      attempt_build("local o = op return o.LeakyRelu{m.x, alhpa = 1}", kFloat);
  CHECK(attribute.what() == "LeakyRelu has no attribute 'alhpa'");
  CHECK(attribute.error->hint == "did you mean 'alpha'?");
  CHECK(
      attempt_build("local o = op return o.Transpose{m.x, perm = 'x'}", kFloat)
          .what() == "attribute 'perm' must be a list of integers");
  CHECK(attempt_build("return op.Softmax{m.x, axis = 0.5}", kFloat).what() ==
        "attribute 'axis' must be an integer");
  CHECK(attempt_build("return op.LeakyRelu(m.x, {alpha = 1})", kFloat).what() ==
        "LeakyRelu gets a table of names as an input");
  CHECK(attempt_build("return op.Add(m.x, 'x')", kFloat).what() ==
        "Add gets something that cannot be an input");
  CHECK(attempt_build("return op.Add(m.x, m.relu)", kFloat).what() ==
        "Add gets a node as an input");
  CHECK(attempt_build("return op.Add(m.x)", kFloat).what() ==
        "input 'B' of Add is required");
  CHECK(attempt_build("op.Add = 1", kFloat).what() ==
        "`op` cannot be assigned to");
  CHECK(attempt_build("return op.Add{m.x, w, outputs = 0}", kFloat).error);
  CHECK(attempt_build("return op.Add(m.x, w, w)", kFloat).error);
}

TEST_CASE("too many outputs reject the match and are no error of the rule") {
  const auto split = [](const std::string& outputs) {
    return attempt_build(
        "return (op.Split{m.x, axis = 1, outputs = " + outputs + "})", kFloat);
  };
  CHECK(split("4097").reason() == "a node has 4096 outputs at most");
  CHECK(split("1 / 0").error);
  CHECK(split("1.5").what() == "outputs is the number of outputs of Split");
}

TEST_CASE("nil for a required input is an error that names the branch") {
  RuleRunner runner(
      "match = function(op, x, b) return op.Relu(maybe(op.Add(x, b), x)) end,\n"
      "rewrite = function(op, m) return op.Sub(m.x, m.b) end",
      "(float[2] x) => (float[2] y) { y = Relu(x) }");
  const Attempted out = runner.attempt();
  CHECK(out.what() == "input 'B' of Sub is required");
  CHECK(out.error->hint.find("m.b") != std::string::npos);
}

TEST_CASE("nodes are only built in rewrite") {
  RuleRunner runner(
      "match = function(op, x) return op.Relu(x):as 'n' end,\n"
      "where = function(m) m.y = m.n:with(m.x) end,\n"
      "rewrite = function(op, m) return op.Neg(m.x) end",
      "(float[2] x) => (float[2] y) { y = Relu(x) }");
  CHECK(runner.attempt().what() ==
        "nodes are built only in `rewrite` and `pass`");
}

TEST_CASE("`where` computes with constants") {
  const auto attempt = [](const std::string& where, const std::string& result) {
    RuleRunner runner(
        "match = function(op, x, w) return op.Mul(x, w) end,\n"
        "where = function(m, op) " +
            where +
            " end,\n"
            "rewrite = function(op, m) return " +
            result + " end",
        "(float[2] x) => (float[2] y) <float[2] w = {-3, 2}> {"
        " y = Mul(x, w) }");
    const std::size_t nodes = runner.graph().live_node_count();
    const Attempted out = runner.attempt();
    CHECK(runner.graph().live_node_count() == nodes);
    return out;
  };
  CHECK(attempt("need(op.ReduceMax(op.Abs(m.w)):constant()[1] == 3)",
                "op.Add(m.x, m.w)")
            .fired);
  CHECK(attempt("need(op.ReduceSum(m.w):constant()[1] > 0, 'none is left')",
                "op.Add(m.x, m.w)")
            .reason() == "none is left");
  CHECK(attempt("m.top = op.ReduceMax{m.w, keepdims = 0}:scalar()",
                "op.Add(m.x, m.top)")
            .fired);
  CHECK(attempt("m.v = op.Neg(m.w)", "op.Add(m.x, m.v)").what() ==
        "a value was kept from an earlier callback");
  CHECK(attempt("m.v = op.Neg(op.Unsqueeze(m.w, {0})).T", "op.Add(m.x, m.v)")
            .what() == "a value was kept from an earlier callback");
  CHECK(attempt("local y = op.Neg(m.x)", "op.Add(m.x, m.w)").reason() ==
        "`where` computes with constants alone");
}

// --- Results ---

TEST_CASE("an existing value, numbers and lists as results") {
  becomes({"return m.x", "y = Identity(x)"}, kFloat);
  becomes({"return w", "y = Identity(w)"}, kHalf);
  RuleRunner sizes(
      "match = function(op, x) return op.Shape(x) end,\n"
      "rewrite = function(op, m) return {2, 6} end",
      "(float[2,6] x) => (float[] y) { s = Shape(x) y = Expand(x, s) }");
  CHECK(sizes.attempt().fired);
  CHECK(sizes.ops() == "Expand");
}

TEST_CASE("a wrong number of results, and results that are not values") {
  const Attempted none = attempt_build("", kFloat);
  CHECK(none.what() == "`rewrite` returns the wrong number of results");
  CHECK(none.error->found == "0");
  CHECK(none.error->where.find("Relu node") != std::string::npos);
  CHECK(attempt_build("return m.x, m.x", kFloat).what() ==
        "`rewrite` returns the wrong number of results");
  CHECK(attempt_build("return 'x'", kFloat).what() ==
        "result 1 of `rewrite` is not a value");
}

TEST_CASE("a result for an output that the model leaves out") {
  for (const char* second : {"op.Not(op.Cast{m.x, to = 'bool'})", "{1, 0}"}) {
    RuleRunner out(
        std::string(
            "match = function(op, x) return op.Dropout{x, outputs = 2} end,\n"
            "rewrite = function(op, m) return m.x, ") +
            second + " end",
        "(float[2] x) => (float[2] y) { d = Dropout(x) y = Relu(d) }");
    CHECK(out.attempt().fired);
    CHECK(out.ops() == "Relu");
  }
}

TEST_CASE("nil for an unused output") {
  const char* const kRule =
      "match = function(op, x) return op.Dropout{x, outputs = 2} end,\n"
      "rewrite = function(op, m) return m.x, nil end";
  RuleRunner unread(kRule,
                    "(float[2] x) => (float[2] y) "
                    "{ d, mask = Dropout(x) y = Relu(d) }");
  CHECK(unread.attempt().fired);
  CHECK(unread.ops() == "Relu");
  RuleRunner read(kRule,
                  "(float[2] x) => (float[2] y, bool[2] mask) "
                  "{ d, mask = Dropout(x) y = Relu(d) }");
  const Attempted out = read.attempt();
  CHECK(out.reason() == "nothing replaces a result that is still read");
  CHECK(out.rejection->value.find("'mask'") == 0);
  RuleRunner inside(kRule,
                    "(float[2] x) => (float[2] y, bool[2] n) "
                    "{ d, mask = Dropout(x) y = Relu(d) "
                    "n = Not(mask) }");
  CHECK(inside.attempt().reason() == out.reason());
}

TEST_CASE("a result for an omitted output is dropped") {
  RuleRunner runner(
      "match = function(op, x) "
      "return op.Split{x, axis = 0, num_outputs = 2, outputs = 2} end,\n"
      "rewrite = function(op, m) "
      "return op.Slice(m.x, {0}, {1}, {0}), op.Slice(m.x, {1}, {2}, {0}) end",
      "(float[2] x) => (float[1] y) "
      "{ a, \"\" = Split <axis = 0, num_outputs = 2> (x) y = Relu(a) }");
  CHECK(runner.attempt().fired);
  CHECK(runner.ops() == "Slice Relu");
}

TEST_CASE("a constant may have more numbers than Lua's stack has slots") {
  RuleRunner runner(
      building_rule("local t = {} for i = 1, 70000 do t[i] = i end "
                    "return op.mine.f(m.x, t)"),
      kFloat);
  const Attempted out = runner.attempt();
  CHECK(out.what() == "");
  CHECK(out.fired);
  const ir::ValueId list = runner.graph().input(runner.node("f"), 1);
  CHECK(runner.facts().type(list)->dims[0].size() == 70000);
}

TEST_CASE("returning the old value changes nothing") {
  CHECK(attempt_build("return m.relu.outputs[1]", kFloat).reason() ==
        "the rewrite changes nothing");
}

TEST_CASE("rebuilding a node of an unknown domain changes nothing") {
  const auto again = [](std::string_view rewrite) -> std::string {
    RuleRunner runner(
        "match = function(op, x, w) local y, z = op.acme.F{op.acme.G(x), w, "
        "attrs = any, outputs = 2} return y:as 'f', z end,\n"
        "rewrite = function(op, m) return " +
            std::string(rewrite) + " end",
        R"(<ir_version: 8, opset_import: ["" : 21, "acme" : 1]>
           t (float[2] x) => (float[2] y, float[2] z) <float[2] two = {2, 2}> {
             g = acme.G(x) y, z = acme.F <k = 3> (g, two) })");
    const Attempted out = runner.attempt();
    return out.fired ? "fired" : out.what() + out.reason();
  };
  const std::string_view nothing = "the rewrite changes nothing";
  CHECK(again("op.acme.F{op.acme.G(m.x), m.w, k = 3, outputs = 2}") == nothing);
  CHECK(again("m.f:with{k = 3}") == nothing);
  for (const char* other :
       {"m.f:with{k = 4}", "m.f:with{j = 3}",
        "op.acme.F{op.acme.G(m.x), m.w, outputs = 2}",
        "op.acme.F{op.acme.H(m.x), m.w, k = 3, outputs = 2}",
        "op.acme.F{op.acme.G(m.x), op.Neg(m.w), k = 3, outputs = 2}",
        "op.acme.F{m.x, m.w, k = 3, outputs = 2}"}) {
    CAPTURE(other);
    CHECK(again(other) == "fired");
  }
  // In another order the results are different.
  CHECK(again("(function() local y, z = m.f:with{k = 3} return z, y end)()") ==
        "fired");
}

TEST_CASE("another shape or type is rejected when the edit is committed") {
  CHECK(attempt_build("return op.Transpose(m.x)", kFloat).rejection);
  CHECK(attempt_build("return op.Cast{m.x, to = 'float16'}", kFloat).rejection);
  CHECK(attempt_build("return op.Cast{m.x, to = 'fp16'}", kFloat).error->hint ==
        "did you mean 'float16'?");
}

}  // namespace
}  // namespace ruleengine::lua
