#include "core/rewrite/raise.h"

#include <doctest/doctest.h>

#include "core/ir/order.h"
#include "core/text/equivalent.h"
#include "core/text/parse.h"
#include "core/text/print.h"
#include "core/verify/verify.h"

namespace ruleengine::rewrite {
namespace {

std::unique_ptr<ir::Model> parse(std::string_view text) {
  auto model = text::parse_model(text, "m.onnxtxt");
  REQUIRE_MESSAGE(model.ok(), model.error().what);
  return std::move(*model);
}

std::string graph(std::int64_t opset, std::string_view rest) {
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
         "]>\ng " + std::string(rest);
}

// Raising `before` at `opset` to 23 gives `after`.
void check(std::int64_t opset, std::string_view before,
           std::string_view after) {
  auto model = parse(graph(opset, before));
  std::uint64_t rank = 0;  // as after a run
  const auto order = ir::topological_order(model->graph);
  for (ir::NodeId n : *order) model->graph.mutable_node(n).rank = ++rank;
  const Status raised = raise_opset(*model, 23);
  REQUIRE_MESSAGE(raised.ok(), raised.error().found);
  CHECK(model->opset("") == 23);
  const Status sound = verify::check_model(*model);
  CHECK_MESSAGE(sound.ok(), sound.error().what << sound.error().found);
  const auto wanted = parse(graph(23, after));
  const auto why = text::difference(*wanted, *model);
  CHECK_MESSAGE(!why, why.value_or("") << text::print(*model, {}));
}

TEST_CASE("attributes become inputs, and equal ones one constant") {
  check(
      11,
      "(float[1,4,1] x, float[1,6,1] z) => (float[4] y, float[6] w) {"
      " y = Squeeze <axes = [0,2]> (x) w = Squeeze <axes = [0,2]> (z) }",
      "(float[1,4,1] x, float[1,6,1] z) => (float[4] y, float[6] w)"
      " <int64[2] axes = {0,2}> { y = Squeeze(x, axes) w = Squeeze(z, axes) }");
}

TEST_CASE("the body of a function at another opset") {
  const std::string text =
      "(float[2,3] x) => (float[2,1] y) { y = a.Mean(x) }\n"
      "<domain: \"a\", opset_import: [\"\" : 21]> Mean (x) => (y) {"
      " a = Constant <value = int64[1] {1}> () y = ReduceMean(x, a) }";
  auto model = parse(graph(21, text));
  ir::Function& f = *model->functions[0];
  const auto inputs = [&] {
    for (std::size_t i = 0; i < f.body.node_count(); ++i) {
      const ir::NodeId node(i);
      if (f.body.node(node).removed) continue;
      if (f.body.op(node).type == "ReduceMean") return f.body.inputs(node);
    }
    return f.body.inputs(ir::NodeId(0u));
  };
  REQUIRE(set_opset(f, 13).ok());
  CHECK(f.opset_imports.version("") == 13);
  CHECK((inputs().size() < 2 || !inputs()[1].value));
  REQUIRE(set_opset(f, 20).ok());
  CHECK((inputs().size() == 2 && inputs()[1].value));
  CHECK_FALSE(set_opset(f, 0).ok());
}

TEST_CASE("old defaults are written out") {
  check(17,
        "(float[4,6] x) => (float[2,6] y, float[2,6] z)"
        " { y, z = Split <axis = 0> (x) }",
        "(float[4,6] x) => (float[2,6] y, float[2,6] z)"
        " { y, z = Split <axis = 0, num_outputs = 2> (x) }");
  check(11, "(float[4,6] x) => (float[4,6] y) { y = Softmax(x) }",
        "(float[4,6] x) => (float[4,6] y) { y = Softmax <axis = -1> (x) }");
}

TEST_CASE("attributes that were renamed are renamed") {
  check(16,
        "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)"
        " { y = GridSample <mode = \"bilinear\"> (x, g) }",
        "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)"
        " { y = GridSample <mode = \"linear\"> (x, g) }");
}

TEST_CASE(
    "a node that cannot be expressed is named, and the model is unchanged") {
  auto model =
      parse(graph(11,
                  "(float[2,4,6] x) => (float[2,4,6] y, float[8,6] z)"
                  " { [flat] y = Softmax <axis = 1> (x) z = Squeeze(x) }"));
  const std::string before = text::print(*model, {});
  const Status raised = raise_opset(*model, 23);
  REQUIRE(!raised.ok());
  CHECK(raised.error().found.find("'flat'") != std::string::npos);
  CHECK(text::print(*model, {}) == before);
  CHECK(!model->changed);
}

TEST_CASE("an attribute does not become an input of unknown type") {
  auto model = parse(
      "<ir_version: 7, opset_import: [\"\" : 10, \"com.example\" : 1]>\n"
      "g (double[3,3] x) => (double[4,4] y) { i = com.example.Inverse(x)"
      " y = Pad <pads = [0,0,1,1], value = 0.5> (i) }");
  const Status raised = raise_opset(*model, 13);
  REQUIRE(!raised.ok());
  CHECK(raised.error().found.find("Pad") != std::string::npos);
}

TEST_CASE("attributes that the callers of a function set are unknown") {
  auto model = parse(
      "<ir_version: 8, opset_import: [\"\" : 11, \"f\" : 1]>\n"
      "g (float[2,1] x) => (float[2] y) { y = f.flat <axes = [1]> (x) }\n"
      "<domain: \"f\", opset_import: [\"\" : 11]> flat <axes> (x) => (y)"
      " { y = Squeeze <axes: ints = @axes> (x) }");
  CHECK(!raise_opset(*model, 23).ok());
}

// Raising to `to` fails with `why` and leaves the model unchanged.
void refuse(std::int64_t opset, std::int64_t to, std::string_view text,
            std::string_view why) {
  auto model = parse(graph(opset, text));
  const std::string before = text::print(*model, {});
  CHECK(!check_raise(*model, to).ok());
  const Status raised = raise_opset(*model, to);
  REQUIRE(!raised.ok());
  CHECK_MESSAGE(raised.error().found.find(why) != std::string::npos,
                raised.error().found);
  CHECK(text::print(*model, {}) == before);
}

// Raising to `to` changes only the import.
void keep(std::int64_t opset, std::int64_t to, std::string_view text) {
  auto model = parse(graph(opset, text));
  CHECK(check_raise(*model, to).ok());
  CHECK(model->opset("") == opset);
  const Status raised = raise_opset(*model, to);
  REQUIRE_MESSAGE(raised.ok(), raised.error().found);
  CHECK(model->opset("") == to);
  const auto why = text::difference(*parse(graph(to, text)), *model);
  CHECK_MESSAGE(!why, why.value_or(""));
}

TEST_CASE("a node with the same form at the new opset is not changed") {
  keep(11, 13,
       "(float[N,6] x) => (float[A,6] y, float[B,6] z)"
       " { y, z = Split <axis = 0> (x) }");
  keep(11, 12, "(float[4,6] x) => (float[4,6] y) { y = Softmax(x) }");
  keep(13, 17,
       "(float[4,6] x) => (float[6] y)"
       " { y = ReduceMean <axes = [0], keepdims = 0> (x) }");
  keep(17, 19, "(float[1,8,1] x) => (float[1,8,2] y) { y = DFT(x) }");
  keep(10, 15, "(float[4] x) => (float[4] y) { y = ThresholdedRelu(x) }");
}

TEST_CASE("an op is not raised past its last kernel of ONNX Runtime") {
  const std::string_view roi =
      "(float[1,1,6,6] x, float[2,4] r, int64[2] b) => (float[2,1,2,2] y)"
      " { y = RoiAlign <output_height = 2, output_width = 2> (x, r, b) }";
  keep(16, 21, roi);
  refuse(16, 22, roi, "runs it up to opset 21");
  keep(22, 23, roi);
  refuse(17, 22,
         "(float[1,1,6,6] x) => (float[1,1,1,1] y)"
         " { y = GlobalLpPool(x) }",
         "up to opset 21");
  keep(17, 26, "(float[2] x) => (float[2] y) { y = Relu(x) }");
  refuse(17, 27, "(float[2] x) => (float[2] y) { y = Relu(x) }", "");
}

TEST_CASE("quantized data that the runtime would move") {
  const std::string_view uint8 =
      "(uint8[2,3] q, float s, uint8 z) => (float[3,2] y)"
      " { d = DequantizeLinear(q, s, z) y = Transpose(d) }";
  keep(17, 23, uint8);
  const std::string_view int8 =
      "(int8[2,3] q, float s, int8 z) => (float[3,2] y)"
      " { d = DequantizeLinear(q, s, z) y = Transpose(d) }";
  keep(17, 20, int8);
  refuse(17, 21, int8, "DequantizeLinear");
  keep(21, 23, int8);
  keep(17, 23,
       "(float s) => (float[3] y) <int8[3] w = {1, 2, 3}>"
       " { y = DequantizeLinear(w, s) }");
}

TEST_CASE(
    "an op that the standard adopted becomes the standard's if types agree") {
  const auto norm = [](std::string_view x, std::string_view scale) {
    return "(" + std::string(x) + "[2,4] x, " + std::string(scale) +
           "[4] w) => (" + std::string(scale) +
           "[2,4] y) { y = LayerNormalization <axis = -1> (x, w) }";
  };
  keep(12, 17, norm("float", "float"));
  keep(12, 16, norm("float16", "float"));
  refuse(12, 17, norm("float16", "float"), "an op of ONNX Runtime");
  refuse(12, 23, norm("float", "float16"), "an op of ONNX Runtime");
  // An op of another domain that the standard never had does not change.
  keep(12, 23,
       "(float[2,4] x, float[4] w) => (float[2,4] y)"
       " { y = SimplifiedLayerNormalization <axis = -1> (x, w) }");
  refuse(8, 9,
         "(float[2,4] x) => (float[2,4] y)"
         " { y = MeanVarianceNormalization(x) }",
         "an op of ONNX Runtime");
}

TEST_CASE("ops, attributes and types that were removed") {
  refuse(10, 11,
         "(float[1,5] x, int64[1,2] i, float[1,2] u)"
         " => (float[1,5] y) { y = Scatter <axis = 1> (x, i, u) }",
         "does not exist there");
  refuse(7, 9,
         "(float[1,1,2,2] x) => (float[1,1,4,4] y)"
         " { y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x) }",
         "no attribute 'scales'");
  refuse(9, 13, "(int32[2] x) => (int32[2] y) { y = Erf(x) }",
         "not accept int32");
  refuse(9, 11,
         "(float[2] x) => (float[2] y, float[2] m)"
         " { y, m = Dropout(x) }",
         "another meaning");
}

TEST_CASE("nothing changes if the model has the opset") {
  auto model = parse(graph(23, "(float[2] x) => (float[2] y) { y = Relu(x) }"));
  CHECK(raise_opset(*model, 23).ok());
  CHECK(!model->changed);
}

}  // namespace
}  // namespace ruleengine::rewrite
