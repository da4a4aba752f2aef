#include "core/text/print.h"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "core/text/equivalent.h"
#include "core/text/parse.h"
#include "core/text/read/encode.h"
#include "core/wire/schema.h"

namespace ruleengine::text {
namespace {

using ir::AttributeKind;
using ir::Graph;
using ir::NodeId;

constexpr std::string_view kEverything = R"(
<
  ir_version: 9,
  opset_import: ["" : 19, "com.microsoft" : 1, "d" : 2],
  producer_name: "m\"e",
  domain: "org.example",
  model_version: 7,
  doc_string: "two
lines",
  metadata_props: ["a": "b", "c": ""]
>
net (float[B,S,8] x, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}, bool c, float[] u, untyped) => (float[B,?,"S + 1"] y, seq(map(int64, optional(float[N]))) z, w) <
    int64[1] axis = {-1},
    float16[2] h = {15360, 48128},
    string[2] st = {"a\"b", "c\\"},
    uint4[3] nibbles = {1, 2, 3},
    int2[5] pairs = {-2, -1, 0, 1, -2},
    double pi = {3.141592653589793},
    uint64 big = {18446744073709551615},
    bool[2] flags = {1, 0},
    complex64[1] i = {0, 1},
    float[4] tiny = {1e-45, inf, -inf, -0},
    float[2,3] outside = ["location": "w.bin", "offset": "16", "length": "24"],
    float[B,S,8] s> {
  ["first node"] s = Add(x, b)
  [second, "pkg.a": "a\"b", "c": ""] y, "" = com.microsoft.Gelu:fast <a = [1.0, 2.5], e: ints = [], t = float[2] {1, 2}, ty = seq(float[3]), tys = [float, opaque(a.b,c)], ts = [int8 {1}]> (s, "", b)
  "/odd name", "float" = "my-domain.4.2"."odd-op"("inf")
  "inf" = Source()
  z = If(c) <then_branch = g () => (float[2] r) <
      float[2] k = {1, 2},
      float[2] q> {
    q = Relu(s)
    r = Add(q, k)
  }, else_branch = h () => (r2) {
    r2 = Relu(s)
  }>
  w = d.f:o <alpha = 1e+20> ("/odd name", "float")
}

<
  domain: "d",
  overload: "o",
  opset_import: ["" : 18]
>
f <alpha, beta = 1.0, list: ints = []> (x, float[3] y) => (z) <
    float t> {
  t = Elu <alpha: float = @alpha> (x)
  z = Add(t, y)
}
)";

std::unique_ptr<ir::Model> read_text(std::string_view text) {
  auto model = parse_model(text);
  if (!model) FAIL(model.error().text());
  return std::move(*model);
}

TEST_CASE("what is printed reads back, and prints the same") {
  const auto model = read_text(kEverything);
  const std::string first = print(*model, {.weights = true});
  const auto again = read_text(first);
  CHECK(print(*again, {.weights = true}) == first);
  CHECK(difference(*model, *again).value_or("") == "");
  // Nothing was lost when the text became a graph.
  for (std::string_view line :
       {"domain: \"org.example\"",
        "model_version: 7",
        "two\\x0alines",
        "metadata_props: [\"a\": \"b\", \"c\": \"\"]",
        "float[] u, untyped",
        "float[B,?,\"S + 1\"] y",
        "seq(map(int64, optional(float[N]))) z",
        "float16[2] h = {15360, 48128}",
        "uint4[3] nibbles = {1, 2, 3}",
        "int2[5] pairs = {-2, -1, 0, 1, -2}",
        "3.141592653589793",
        "18446744073709551615",
        "{1e-45, inf, -inf, -0}",
        "outside = [\"location\": \"w.bin\", \"offset\": \"16\", \"length\": "
        "\"24\"]",
        "[\"first node\"] s",
        "[second, \"pkg.a\": \"a\\\"b\", \"c\": \"\"] y",
        "tys = [float, opaque(a.b,c)]",
        "\"/odd name\", \"float\" = \"my-domain.4.2\".\"odd-op\"(\"inf\")",
        "f <alpha, beta = 1.0, list: ints = []> (x, float[3] y) => (z) <",
        "Elu <alpha: float = @alpha> (x)"}) {
    CAPTURE(line);
    CHECK(first.find(line) != std::string::npos);
  }
}

TEST_CASE("nodes come in topological order") {
  const auto model = read_text("(float x) => (y) { y = Relu(a) a = Neg(x) }");
  const std::string text = print(*model);
  CHECK(text.find("a = Neg(x)") < text.find("y = Relu(a)"));
  // A graph with a cycle is printed too.
  ir::Graph& g = model->graph;
  g.set_operand(ir::OperandId(g.node(NodeId(1u)).first_operand),
                g.output(NodeId(0u)));
  CHECK(print(*model).find("a = Neg(y)") != std::string::npos);
}

TEST_CASE("large tensors are abbreviated, unless asked for") {
  const auto model = read_text(
      "(float x) => (y) <float[20] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,"
      "16,17,18,19,20}> { y = Add(x, w) }");
  CHECK(print(*model).find("float[20] w = {...}") != std::string::npos);
  CHECK(print(*model, {.max_elements = 20}).find("19, 20}") !=
        std::string::npos);
  CHECK(print(*model, {.weights = true}).find("19, 20}") != std::string::npos);
  CHECK_FALSE(parse_model(print(*model)).ok());
}

TEST_CASE("removed nodes and values are not printed") {
  const auto model =
      read_text("(float x) => (y) { y = Relu(x) dead = Neg(x) }");
  model->graph.remove_node(NodeId(1u));
  CHECK(print(*model).find("dead") == std::string::npos);
}

TEST_CASE("attributes on one line") {
  const auto model = read_text(R"((bool c, float x) => (y) {
    y = If(c) <then_branch = g () => (r) { r = Relu(x) },
               f = 2.0, e: floats = [], v = float[17] {1,2,3,4,5,6,7,8,9,10,11,
               12,13,14,15,16,17}> })");
  const auto list = model->graph.node(NodeId(0u)).attributes;
  CHECK(attribute_text(model->graph, list[0]) == "then_branch = {1 nodes}");
  CHECK(attribute_text(model->graph, list[1]) == "f = 2.0");
  CHECK(attribute_text(model->graph, list[2]) == "e: floats = []");
  CHECK(attribute_text(model->graph, list[3]) == "v = float[17] {...}");
}

TEST_CASE("what has no words stands in a comment") {
  const auto model = read_text("(float x) => (y) { y = Op <a = 1> (x) }");
  std::array<ir::Attribute, 2> list = {
      ir::Attribute{.name = "sparse\n}", .kind = AttributeKind::kSparseTensor},
      ir::Attribute{.name = "a", .kind = AttributeKind::kInt, .i = 1}};
  model->graph.mutable_node(NodeId(0u)).attributes = list;
  const auto again = read_text(print(*model));
  CHECK(again->graph.node(NodeId(0u)).attributes.size() == 1);
  const auto whole = print_whole(*model);
  REQUIRE_FALSE(whole);
  CHECK(whole.error().found ==
        "sparse_tensor attribute 'sparse\\x0a}' of Op node of output 'y'");
  CHECK(*print_whole(*again) == print(*again, {.weights = true}));
}

TEST_CASE("types nested without end are printed to a depth") {
  std::vector<std::byte> proto;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> inner, outer;
    put_bytes(inner, 1, proto);
    put_bytes(outer, type_field::kSequence, inner);
    proto = std::move(outer);
  }
  const ir::Model model;
  const ir::Type type = {.kind = ir::TypeKind::kOther, .other = proto};
  const std::string text = type_text(model, &type);
  CHECK(text.starts_with("seq(seq("));
  CHECK(text.size() < 1000);
  // No byte after the end is read.
  for (std::size_t n = 0; n < 40; ++n) {
    const ir::Type cut = {.kind = ir::TypeKind::kOther,
                          .other = std::span(proto).first(n)};
    CHECK_FALSE(type_text(model, &cut).empty());
  }
}

// Damages a text a little: deletes, repeats or swaps significant characters.
std::string mutated(std::string text, std::mt19937& random) {
  constexpr std::string_view kMarks = "<>()[]{}=,:.?@\"\\#-0e";
  const auto below = [&](std::size_t n) { return random() % n; };
  for (std::size_t i = 1 + below(2); i > 0 && text.size() > 1; --i) {
    const std::size_t at = below(text.size());
    const std::size_t n = std::min(below(30), text.size() - at);
    switch (below(5)) {
      case 0:
        text.erase(at, 1 + n);
        break;
      case 1:
        text.insert(at, text.substr(at, n));
        break;
      case 2:
        text[at] = kMarks[below(kMarks.size())];
        break;
      case 3:
        text.insert(at, 1, kMarks[below(kMarks.size())]);
        break;
      default:
        text.insert(below(text.size()), text.substr(at, n));
    }
  }
  return text;
}

TEST_CASE("damaged text is refused or understood, and never worse") {
  std::mt19937 random(1);
  int understood = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = mutated(std::string(kEverything), random);
    const auto model = parse_model(text, "f", {.check_ops = i % 2 == 0});
    if (!model) {
      REQUIRE_FALSE(model.error().what.empty());
      REQUIRE(model.error().where.starts_with("f"));
      continue;
    }
    ++understood;
    const std::string printed = print(**model, {.weights = true});
    const auto again = parse_model(printed);
    REQUIRE_MESSAGE(again.ok(), text, "\n", printed, "\n",
                    again.error().text());
    REQUIRE(print(**again, {.weights = true}) == printed);
  }
  CHECK(understood > 100);
}

}  // namespace
}  // namespace ruleengine::text
