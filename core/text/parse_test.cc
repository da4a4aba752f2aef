#include "core/text/parse.h"

#include <doctest/doctest.h>

#include <string>

#include "core/text/print.h"

namespace ruleengine::text {
namespace {

using ir::AttributeKind;
using ir::BlockId;
using ir::Graph;
using ir::NodeId;
using ir::ValueId;

std::unique_ptr<ir::Model> parse(std::string_view text) {
  auto model = parse_model(text);
  if (!model) FAIL(model.error().text());
  return std::move(*model);
}

// "WHAT | WHERE | EXPECTED | FOUND | HINT" of the error.
std::string problem(std::string_view text, const ParseOptions& options = {}) {
  const auto model = parse_model(text, "g.onnxtxt", options);
  if (model) return "";
  const Diagnostic& d = model.error();
  return d.what + " | " + d.where + " | " + d.expected + " | " + d.found +
         " | " + d.hint;
}

const ir::Attribute& attribute(const ir::Model& model, std::string_view name,
                               std::size_t node = 0) {
  const ir::Attribute* a = model.graph.attribute(NodeId(node), name);
  REQUIRE(a != nullptr);
  return *a;
}

TEST_CASE("a whole model") {
  const auto m = parse(R"(
    <ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1],
     producer_name: "me", metadata_props: ["a": "b"]>
    net (float[B,S,8] x, float[8] b = {1,2,3,4,5,6,7,8})
      => (float[B,?,8] y)
      <float[B,S,8] s, int64[1] axis = {-1}> {
      # a comment
      ["first node"] s = Add(x, b)
      y = com.microsoft.Gelu:fast(s)
    })");
  CHECK(m->ir_version == 8);
  CHECK(m->opset("") == 18);
  CHECK(m->opset_imports.size() == 2);
  CHECK(m->source != nullptr);
  CHECK(m->changed);
  const Graph& g = m->graph;
  const ir::Block& main = g.block(Graph::main_block());
  CHECK(main.name == "net");
  REQUIRE(main.inputs.size() == 2);
  CHECK(g.value(main.inputs[1]).kind == ir::ValueKind::kInput);
  CHECK(g.value(main.inputs[1]).tensor->element_count() == 8);
  REQUIRE(main.outputs.size() == 1);
  CHECK(g.name(main.outputs[0]) == "y");
  CHECK(type_text(*m, g.value(main.outputs[0]).declared) == "float[B,?,8]");
  CHECK(g.node(NodeId(0u)).name == "first node");
  const ir::Op& gelu = g.op(NodeId(1u));
  CHECK(gelu.text() == "com.microsoft::Gelu:fast");
  CHECK(type_text(*m, g.value(g.output(NodeId(0u))).declared) ==
        "float[B,S,8]");
  REQUIRE(main.initializers.size() == 2);
  const ir::Literal* axis = g.value(main.initializers[1]).tensor;
  CHECK(to_ints(*axis, nullptr, 10)->at(0) == -1);
  CHECK(g.node(NodeId(0u)).rank < g.node(NodeId(1u)).rank);
}

TEST_CASE("the short form of rule examples") {
  const auto m = parse(R"(
    (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v)
      => (float[2,4,8,16] y) <float c = {4.0}> {
      kt = Transpose <perm = [0,1,3,2]> (k)
      s  = MatMul(q, kt)
      d  = Div(s, c)
      p  = Softmax(d) <axis = -1>
      y  = ruleengine.Something(p, v)
    })");
  CHECK(m->ir_version == 10);
  CHECK(m->opset("") == 21);
  CHECK(m->opset("ruleengine") == 1);
  CHECK(m->source == nullptr);
  CHECK(attribute(*m, "perm").ints.size() == 4);
  CHECK(attribute(*m, "axis", 3).i == -1);
  CHECK(m->graph.block(Graph::main_block()).name == "graph");
  // The oldest opset that has all the ops.
  const auto newer = parse("(float x) => (y) { y = RMSNormalization(x, x) }");
  CHECK(newer->opset("") == 23);
  CHECK(newer->ir_version == 11);
}

TEST_CASE("a node has a name, metadata, or both") {
  const auto m = parse(R"((float x) => (y) {
      [plain] a = Neg(x)
      ["k": "v"] b = Neg(a)
      ["odd name", "k": "", "\"l\"": "w"] c = Neg(b)
      [] y = Neg(c) })");
  const auto text = [&](std::size_t i) {
    const ir::Node& n = m->graph.node(NodeId(i));
    std::string out(n.name);
    for (const ir::Metadata& each : n.metadata) {
      out.append("|").append(each.key).append("=").append(each.value);
    }
    return out;
  };
  CHECK(text(0) == "plain");
  CHECK(text(1) == "|k=v");
  CHECK(text(2) == "odd name|k=|\"l\"=w");
  CHECK(text(3) == "");
  // Printed with the weights, except for the metadata that a run itself adds.
  CHECK(print(*m).find("odd") != std::string::npos);
  CHECK(print(*m).find("\"k\"") == std::string::npos);
  const ir::Metadata own[] = {{"ruleengine.rule", "a/b"}, {"k", "v"}};
  m->graph.mutable_node(NodeId(0u)).metadata = own;
  CHECK(print(*m, {.weights = true}).find("[plain, \"k\": \"v\"] a") !=
        std::string::npos);
  for (const char* label : {"[a b]", "[a, b]", "[a, \"k\"]", "[\"k\": v]",
                            "[\"k\": \"v\",]", "[\"k\": \"v\", l: \"w\"]"}) {
    const std::string wrong =
        std::string("(float x) => (y) { ") + label + " y = Neg(x) }";
    CHECK_FALSE(parse_model(wrong).ok());
  }
}

TEST_CASE("attributes of every kind") {
  const auto m = parse(R"((float x) => (y) { y = my.Op <
      i = 1, f = 1.5, g: float = 1, n = -inf, s = "a\"b", r: int = @axis,
      is = [1,2], fs = [1, 2.5, 3], ss = ["a"], e: ints = [],
      t = float[2] {1, 2}, named = int8 u = {-1}, ts = [int8 {1}, float {2}],
      ty = seq(float[3]), tys = [float, int8[]],
      large: floats = [100000000000000000000, 2]> (x) })");
  CHECK(attribute(*m, "i").kind == AttributeKind::kInt);
  CHECK(attribute(*m, "f").f == 1.5f);
  CHECK(attribute(*m, "g").kind == AttributeKind::kFloat);
  CHECK(attribute(*m, "g").f == 1);
  CHECK(attribute(*m, "n").f < -1e38f);
  CHECK(attribute(*m, "s").s == "a\"b");
  CHECK(attribute(*m, "r").ref == "axis");
  CHECK(attribute(*m, "r").kind == AttributeKind::kInt);
  CHECK(attribute(*m, "is").ints[1] == 2);
  REQUIRE(attribute(*m, "fs").floats.size() == 3);
  CHECK(attribute(*m, "fs").floats[0] == 1);
  CHECK(attribute(*m, "fs").floats[2] == 3);
  CHECK(attribute(*m, "large").floats[0] == 1e20f);
  CHECK(attribute(*m, "ss").strings[0] == "a");
  CHECK(attribute(*m, "e").kind == AttributeKind::kInts);
  CHECK(attribute(*m, "t").tensors[0]->dims[0] == 2);
  CHECK(attribute(*m, "named").tensors[0]->dtype == ir::DataType::kInt8);
  CHECK(attribute(*m, "ts").tensors.size() == 2);
  CHECK(attribute(*m, "ty").kind == AttributeKind::kTypeProto);
  CHECK_FALSE(attribute(*m, "ty").proto.empty());
  CHECK(attribute(*m, "tys").kind == AttributeKind::kTypeProtos);
}

TEST_CASE("the op says what a number without a point is") {
  const auto m = parse(R"((float[2,2] x) => (y) {
      a = Gemm <alpha = 2, transB = 1> (x, x)
      y = my.Op <alpha = 2> (a)
      z = ai.onnx.ml.Scaler <offset = [1, 2]> (x)
      w = Transpose <perm = []> (x) })");
  CHECK(attribute(*m, "alpha").kind == AttributeKind::kFloat);
  CHECK(attribute(*m, "alpha").f == 2);
  CHECK(attribute(*m, "transB").kind == AttributeKind::kInt);
  CHECK(attribute(*m, "alpha", 1).kind == AttributeKind::kInt);
  CHECK(attribute(*m, "offset", 2).kind == AttributeKind::kFloats);
  CHECK(attribute(*m, "offset", 2).floats[1] == 2);
  CHECK(attribute(*m, "perm", 3).kind == AttributeKind::kInts);
}

TEST_CASE("absent inputs and outputs") {
  const auto m = parse(R"((float x) => (y) {
      y, , "" = Op(x, , "", x)
      = Sink(,)
      z = Source()
      w = Op(x,) })");
  const Graph& g = m->graph;
  CHECK(g.outputs(NodeId(0u)).size() == 3);
  CHECK_FALSE(g.output(NodeId(0u), 1).valid());
  CHECK(g.inputs(NodeId(0u)).size() == 4);
  CHECK_FALSE(g.input(NodeId(0u), 1).valid());
  CHECK(g.input(NodeId(0u), 3).valid());
  CHECK(g.outputs(NodeId(1u)).empty());
  CHECK(g.inputs(NodeId(1u)).size() == 1);
  CHECK(g.inputs(NodeId(2u)).empty());
  CHECK(g.inputs(NodeId(3u)).size() == 1);
}

TEST_CASE("subgraphs see what is around them, and may hide it") {
  const auto m = parse(R"((bool c, float x) => (y) {
      a = Relu(x)
      y = If(c) <
        then_branch = yes () => (float r) <float k = {1}> { r = Add(a, k) },
        else_branch = no () => (a) { a = Neg(x) }> })");
  const Graph& g = m->graph;
  REQUIRE(g.block_count() == 3);
  const BlockId yes = attribute(*m, "then_branch", 1).blocks[0];
  const BlockId no = attribute(*m, "else_branch", 1).blocks[0];
  CHECK(g.block(yes).name == "yes");
  CHECK(g.block(yes).owner == NodeId(1u));
  CHECK(g.block(yes).parent == Graph::main_block());
  const NodeId add = g.block(yes).nodes[0];
  CHECK(g.input(add, 0) == g.output(NodeId(0u)));
  const NodeId neg = g.block(no).nodes[0];
  CHECK(g.block(no).outputs[0] == g.output(neg));
  CHECK(g.output(neg) != g.output(NodeId(0u)));
  CHECK(g.node(add).rank > g.node(NodeId(0u)).rank);
  CHECK(g.node(add).rank < g.node(NodeId(1u)).rank);
}

TEST_CASE("the name of a subgraph may be quoted") {
  const auto m = parse(R"((bool c, float x) => (y) {
      y = If(c) <then_branch = "a graph" () => (r) { r = Relu(x) },
                 else_branch = "" () => (r) { r = Neg(x) }> })");
  const Graph& g = m->graph;
  const auto branch = [&](std::string_view name) {
    return g.block(attribute(*m, name).blocks.front()).name;
  };
  CHECK(branch("then_branch") == "a graph");
  CHECK(attribute(*m, "else_branch").kind == AttributeKind::kGraph);
}

TEST_CASE("functions") {
  const auto m = parse(R"(
    <ir_version: 10, opset_import: ["": 21, "d": 1]>
    g (float x) => (y) { y = d.f:o <alpha = 1.0> (x, x) }
    <domain: "d", overload: "o", opset_import: ["": 18]>
    f <alpha, beta: float = 2.0> (a, float[3] b) => (c) <float t> {
      t = Elu <alpha: float = @alpha> (a)
      c = d.h(t, b)
    }
    <domain: "d"> h (a, b) => (c) { c = Add(a, b) })");
  REQUIRE(m->functions.size() == 2);
  const ir::Function& f = *m->functions[0];
  CHECK(f.domain == "d");
  CHECK(f.name == "f");
  CHECK(f.overload == "o");
  CHECK(f.inputs == std::vector<std::string_view>{"a", "b"});
  CHECK(f.outputs == std::vector<std::string_view>{"c"});
  CHECK(f.attributes == std::vector<std::string_view>{"alpha"});
  CHECK(f.attribute_defaults[0].f == 2);
  CHECK(f.opset_imports.size() == 2);  // "d" because it is used
  CHECK(f.opset_imports[0].version == 18);
  CHECK(f.body.live_node_count() == 2);
  CHECK(m->functions[1]->opset_imports[0].version == 21);
  CHECK(m->find_function(m->graph.op(NodeId(0u))) == &f);
}

TEST_CASE("a function without its name") {
  ir::Model model;
  const ir::Op op{"com.example", "Swish", {}};
  const auto made = parse_function(
      model,
      "<beta: float = 1.0, k> (x, y) => (z) { z = Elu <alpha = @k> (x) }", op);
  REQUIRE_MESSAGE(made.ok(), made.error().what);
  const ir::Function& f = **made;
  CHECK(model.find_function(op) == *made);
  CHECK(f.inputs.size() == 2);
  CHECK(f.attributes.size() == 1);
  CHECK(f.attribute_defaults.size() == 1);
  CHECK(f.opset_imports.version("") == 21);
  const auto older = parse_function(
      model, "<opset_import: [\"\": 17]> (x) => (y) { y = Relu(x) }",
      {"com.example", "Relu", {}});
  REQUIRE(older.ok());
  CHECK((*older)->opset_imports.version("") == 17);
  const auto wrong = [&](std::string_view text) {
    const auto bad = parse_function(model, text, {"a", "B", {}});
    return bad ? std::string("ok") : bad.error().what;
  };
  CHECK(wrong("(x) => (x) { }") == "an output of a body is an input of it");
  CHECK(wrong("(x) => (y) { y = Elu <alpha = @k> (x) }") ==
        "a body reads an attribute that it does not declare");
  CHECK(wrong("(float x) => (y) { y = Elu(x) }") ==
        "an input or output of a body has a type");
}

TEST_CASE("elements of every type") {
  const auto numbers = [](std::string_view text) {
    const auto m = parse("() => (t) <" + std::string(text) + "> {}");
    const auto value = m->graph.block(Graph::main_block()).initializers.at(0);
    const auto all = to_doubles(*m->graph.value(value).tensor, nullptr, 99);
    std::string out;
    for (double d : *all) out += std::to_string(d).substr(0, 5) + " ";
    return out;
  };
  CHECK(numbers("float[2] t = {1, -2.5e0}") == "1.000 -2.50 ");
  CHECK(numbers("double t = {1e-1}") == "0.100 ");
  CHECK(numbers("float16[2] t = {15360, 1.0}") == "1.000 1.000 ");
  CHECK(numbers("bfloat16[2] t = {16256, -inf}") == "1.000 -inf ");
  CHECK(numbers("float8e4m3fn t = {448.0}") == "448.0 ");
  CHECK(numbers("int4[3] t = {-8, 7, -1}") == "-8.00 7.000 -1.00 ");
  CHECK(numbers("uint64 t = {18446744073709551615}") == "18446 ");
  CHECK(numbers("int8[2] t = {-128, 127}") == "-128. 127.0 ");
  CHECK(numbers("bool[2] t = {1, 0}") == "1.000 0.000 ");
  CHECK(numbers("float[0] t = {}") == "");
  const auto s = parse("() => (t) <string[2] t = {\"a\\\\b\", \"\"}> {}");
  const auto t = s->graph.block(Graph::main_block()).initializers.at(0);
  CHECK(s->graph.value(t).tensor->strings[0] == "a\\b");
  const auto e = parse(
      "() => (t) <float[4] t = [\"location\": \"w.bin\", \"offset\": \"8\"]> "
      "{}");
  const auto w = e->graph.block(Graph::main_block()).initializers.at(0);
  CHECK(e->graph.value(w).tensor->storage == ir::Storage::kExternal);
  CHECK(e->graph.value(w).tensor->external.location == "w.bin");
  CHECK(e->graph.value(w).tensor->external.offset == 8);
}

TEST_CASE("errors say where, and what was meant") {
  CHECK(
      problem("(float x) => (y) { y = Relu(z) }") ==
      "a node reads a value that nothing defines | g.onnxtxt:1:29 | an input, "
      "a constant or the output of a node | 'z' | known: x, y");
  CHECK(
      problem("(float query) => (y) {\n  y = Relu(qeury) }") ==
      "a node reads a value that nothing defines | g.onnxtxt:2:12 | an input, "
      "a constant or the output of a node | 'qeury' | did you mean "
      "'query'?");
  CHECK(problem("<ir_verson: 8> (float x) => (x) {}")
            .ends_with("'ir_verson' | did you mean 'ir_version'?"));
  CHECK(problem("(float x) => (y) { y = Op <a: flot = 1> (x) }")
            .ends_with("'flot' | did you mean 'float'?"));
  CHECK(problem("(float x) => (y) { y = Op <a = 1, a = 2> (x) }")
            .starts_with("an attribute is given twice | g.onnxtxt:1:35"));
  CHECK(problem("(float x) => (y) { y = Relu(x) y = Relu(x) }")
            .starts_with("a name is defined twice | g.onnxtxt:1:32"));
  CHECK(problem("(float x) => (x, x) {}")
            .starts_with("two outputs have the same name"));
  CHECK(problem("(float x) => (y) { a = Relu(b) b = Relu(a) y = Relu(x) }")
            .starts_with("the graph has a cycle | g.onnxtxt"));
  CHECK(problem("(float x) => (y) <float[2] c = {1}> { y = Add(x, c) }")
            .starts_with("the elements of a tensor do not fit its shape | "
                         "g.onnxtxt:1:33 | 2 | 1"));
  CHECK(problem("(float x) => (y) <int8 c = {300}> { y = Add(x, c) }")
            .ends_with("a number of type int8 | '300' | "));
  CHECK(problem("(float x) => (y) <float c = {1e39}> { y = Add(x, c) }")
            .ends_with("a number of type float | '1e39' | "));
  CHECK(problem("(float x) => (y) <float[N] c = {1}> { y = Add(x, c) }")
            .starts_with("the shape of a constant is not known"));
  CHECK(problem("(float x) => (y) <float[9] c = {...}> { y = Add(x, c) }")
            .ends_with("print the model again with its weights"));
  CHECK(
      problem("(float x) => (y) <float n> { y = Relu(x) }")
          .starts_with("a type is declared for a value that nothing defines"));
  CHECK(problem("<opset_import: [\"\": 9999]> (float x) => (x) {}")
            .starts_with(
                "the opset of the model is newer than this program knows"));
  CHECK(problem("(float x) => (y) { y = Op <e = []> (x) }")
            .starts_with("the type of an empty list is not known"));
  CHECK(problem("(float x) => (y) { y = Op <e = [1, \"a\"]> (x) }")
            .starts_with("the elements of a list have different types"));
  CHECK(problem("(float x) => (y) { y = Op <e: ints = 1> (x) }")
            .starts_with("the value of an attribute is not of its type"));
  CHECK(problem("(float x) => (y) { y = Op <e: ints = [1, 2.5]> (x) }") ==
        "the value of an attribute is not of its type | g.onnxtxt:1:42 | int "
        "| float | ");
  CHECK(problem("(float x) => (y) { y = Op(x }")
            .ends_with("')' after the inputs of a node | '}' | "));
  CHECK(problem("(float x) => (y) { y = Relu(x)")
            .ends_with("or '}' | the end of the text | "));
  CHECK(problem("(float x) => (y) { y = Op <s = \"abc> (x) }")
            .find("a string without an end") != std::string::npos);
  CHECK(problem("(float x) => (y) { y = Relu($) }")
            .find("an unexpected character") != std::string::npos);
  CHECK(problem("") != "");
  CHECK(problem("(float x) => (x) {} <domain: \"d\"> f (x) => (y) { y = "
                "d.f(x) }")
            .starts_with("a function calls itself"));
  CHECK(problem("(float x) => (y) { y = f(x, x) } f (a) => (b) { b = Abs(a) }")
            .ends_with("1 inputs and 1 outputs | 2 inputs and 1 outputs | "));
}

TEST_CASE("ops are checked where that is asked for") {
  const ParseOptions check = {.check_ops = true};
  CHECK(problem("(float x) => (y) { y = Sofmax(x) }") == "");
  CHECK(problem("(float x) => (y) { y = Sofmax(x) }", check) ==
        "there is no such op at opset 21 | g.onnxtxt:1:24 | an op of the "
        "domain | 'Sofmax' | did you mean 'Softmax'?");
  CHECK(problem("(float x) => (y) { y = Softmax <axes = 1> (x) }", check)
            .ends_with("'axes' | did you mean 'axis'?"));
  CHECK(problem("<opset_import: [\"\": 21]> (float x) => (y) { y = "
                "RMSNormalization(x, x) }",
                check)
            .ends_with("a newer opset | 'RMSNormalization' | RMSNormalization "
                       "exists from opset 23 on; an op of your own has a "
                       "domain: com.example.RMSNormalization"));
  CHECK(problem("(float x) => (y) { y = unknown.Op <a = 1> (x) }", check) ==
        "");
  CHECK(problem("(float x) => (y) { y = f(x) } f (a) => (b) { b = h(a) } "
                "h (a) => (b) { b = Relu(a) }",
                check) == "");
}

TEST_CASE("numbers of inputs are checked with the ops") {
  const ParseOptions check = {.check_ops = true};
  const auto of = [&](const char* node) {
    return problem("(float x) => (y) { y = " + std::string(node) + " }", check);
  };
  CHECK(of("Relu(x, x)") ==
        "Relu does not take that many inputs | "
        "g.onnxtxt:1:24 | 1 | 2 | ");
  CHECK(of("Clip()").find(" | 1 to 3 | 0 | ") != std::string::npos);
  CHECK(of("Concat <axis = 0> ()").find("1 or more") != std::string::npos);
  CHECK(of("Clip(x, \"\", x)") == "");
  CHECK(of("Relu(x, \"\")") == "");
}

TEST_CASE("what would be refused of ops can be warned of") {
  std::vector<Diagnostic> warnings;
  const std::string text =
      "(float x) => (y) { a = Sofmax(x)  b = Sofmax(a)\n c = Relu(b, b)\n"
      "d = Softmax <axes = 1> (c)  e = x.F(d)  y = If(e) <then_branch = "
      "() => (t) { t = Rleu(x) }> }";
  CHECK(problem(text, {.warnings = &warnings}) == "");
  std::string said;
  for (const Diagnostic& each : warnings) {
    said += each.where + ": " + each.what + "; ";
  }
  CHECK(said ==
        "g.onnxtxt:1:24: there is no such op at opset 21; "
        "g.onnxtxt:2:6: Relu does not take that many inputs; "
        "g.onnxtxt:3:14: Softmax has no such attribute; "
        "g.onnxtxt:3:82: there is no such op at opset 21; ");
}

TEST_CASE("types by other names") {
  CHECK(problem("(float32[2] x) => (y) { y = Relu(x) }") ==
        "there is no type 'float32' | g.onnxtxt:1:2 | a type, such as "
        "float[2,3] |  | did you mean 'float'?");
  CHECK(problem("(half x) => (y) { y = Relu(x) }")
            .ends_with("did you mean 'float16'?"));
  CHECK(problem("(float x) => (flaot[2] y) { y = Relu(x) }")
            .ends_with("did you mean 'float'?"));
  CHECK(problem("(seq(fp32) x) => (y) { y = Relu(x) }")
            .ends_with("did you mean 'float'?"));
  CHECK(problem("(tensor[2] x) => (y) { y = Relu(x) }")
            .find("known: float, uint8, int8") != std::string::npos);
  // A name without a type, and a type that is also a name.
  CHECK(problem("(float32) => (y) { y = Relu(float32) }") == "");
  CHECK(problem("(float float32) => (y) { y = Relu(float32) }") == "");
}

TEST_CASE("nesting is bounded") {
  std::string types = "(";
  for (int i = 0; i < 100000; ++i) types += "seq(";
  CHECK(problem(types).starts_with("types are nested too deep"));
  std::string graphs = "(bool c) => (y) { y = ";
  for (int i = 0; i < 1000; ++i) graphs += "If(c) <then_branch = () => (a) {a=";
  CHECK(problem(graphs).starts_with("subgraphs are nested too deep"));
  // Side by side there may be any number.
  std::string many = "(bool c, seq(float) s";
  for (int i = 0; i < 100; ++i) {
    many += ", seq(float) s" + std::to_string(i);
  }
  many += ") => (y) {";
  for (int i = 0; i < 100; ++i) {
    many += "a" + std::to_string(i) +
            " = If(c) <then_branch = () => (b) {b = "
            "Identity(c)}>";
  }
  CHECK(problem(many + "y = Not(c) }") == "");
  std::string calls = "(float x) => (y) { y = f0(x) }";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    calls += " f" + std::to_string(i) + " (x) => (y) { t = " + next +
             "(x) y = " + next + "(t) }";
  }
  calls += " f60 (x) => (y) { y = Relu(x) }";
  CHECK(
      problem(calls).starts_with("the calls of functions expand to too many"));
}

TEST_CASE("before IR version 4 a constant that is also an input is constant") {
  const char* text =
      "<ir_version: %, opset_import: [\"\": 9]> g (float x, float w = {1}) => "
      "(y) { y = Add(x, w) }";
  for (char version : {'3', '4'}) {
    std::string t = text;
    t[t.find('%')] = version;
    const auto m = parse(t);
    const auto w = m->graph.block(Graph::main_block()).inputs.at(1);
    CHECK((m->graph.value(w).kind == ir::ValueKind::kInitializer) ==
          (version == '3'));
  }
}

TEST_CASE("the after of an example") {
  const char* before_text =
      "(float[2,3] x) => (float[2,3] y) <float c = {2}, float[2,3] t> "
      "{ t = Mul(x, c) y = Relu(t) }";
  const auto before = parse(before_text);
  const auto after = [&](std::string_view nodes) {
    auto m = parse_after(*before, before_text, nodes, "rule.lua");
    return m ? print(**m) : m.error().what + " at " + m.error().where;
  };
  CHECK(after("y = my.Scaled <alpha = 2.0> (x)") ==
        "<\n  ir_version: 10,\n  opset_import: [\"\" : 21, \"my\" : 1]\n>\n"
        "graph (float[2,3] x) => (float[2,3] y) <\n    float c = {2}> {\n"
        "  y = my.Scaled <alpha = 2.0> (x)\n}\n");
  CHECK(after("z = Mul(x, c)\ny = Relu(w)") ==
        "a node reads a value that nothing defines at rule.lua:2:10");
  CHECK(after("z = Mul(x, c)") ==
        "an output of the graph is a value that nothing defines at line 1, "
        "column 31");
  const auto gone = parse_after(*before, before_text, "z = Mul(x, c)");
  CHECK(gone.error().hint ==
        "if this output is now the input or constant x: y = Identity(x)");
  CHECK(after("(float[2,3] x) => (float[2,3] y) { y = Abs(x) }")
            .find("y = Abs(x)") != std::string::npos);
}

}  // namespace
}  // namespace ruleengine::text
