// Lowering, where only ops of the standard have kernels.
#include "runtime/lowering.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/text/parse.h"
#include "tests/runtime/standard_kernels.h"

namespace ruleengine::runtime {
namespace {

// A model, and as it runs.
struct Case {
  explicit Case(std::string_view text) {
    auto parsed = text::parse_model(text);
    REQUIRE_MESSAGE(parsed.ok(), (parsed ? "" : parsed.error().text()));
    model = *std::move(parsed);
    auto made = lower(*model, {.backends = {&standard_kernels()}});
    REQUIRE_MESSAGE(made.ok(), (made ? "" : made.error().text()));
    lowered = *std::move(made);
  }

  std::unique_ptr<ir::Model> model;
  Lowered lowered;
};

TEST_CASE("a model whose ops have kernels runs as it is") {
  const Case c("(float[2] x) => (float[2] y) { y = Relu(x) }");
  CHECK(c.lowered.model == nullptr);
  CHECK(c.lowered.reasons.empty());
}

TEST_CASE("calls of one variant share a function, and the model stays") {
  const Case c(
      "<opset_import: [\"\" : 18, \"tensor_cast\" : 1]>"
      "(float[2,4] x, float[4] w) => (float[2,4] y) {"
      " a = tensor_cast.add_rms_norm(x, x, w)"
      " b = tensor_cast.add_rms_norm(a, x, w)"
      " y = tensor_cast.add_rms_norm(b, x) }");
  REQUIRE(c.lowered.model != nullptr);
  CHECK(c.lowered.model->functions.size() == 2);
  CHECK(c.model->functions.empty());
  CHECK(c.model->graph.op(ir::NodeId(0u)).overload.empty());
}

TEST_CASE("a function of the file is not mistaken for that of a variant") {
  const Case plain(
      "<opset_import: [\"\" : 18, \"tensor_cast\" : 1]>"
      "(float[2,4] x) => (float[2,4] y) {"
      " y = tensor_cast.add_rms_norm(x, x) }");
  REQUIRE(plain.lowered.model != nullptr);
  const std::string variant(
      plain.lowered.model->graph.op(ir::NodeId(0u)).overload);
  auto model = plain.model->copy();
  auto other = std::make_unique<ir::Function>(*model);
  other->domain = "tensor_cast";
  other->name = "add_rms_norm";
  other->overload = variant;
  model->functions.push_back(std::move(other));
  const auto lowered = lower(*model, {.backends = {&standard_kernels()}});
  REQUIRE(lowered.ok());
  REQUIRE(lowered->model != nullptr);
  CHECK(lowered->model->functions.size() == 2);
  CHECK(lowered->model->graph.op(ir::NodeId(0u)).overload == variant + "_");
}

TEST_CASE("what has no meaning says why, and stays") {
  const Case c(
      "<opset_import: [\"\" : 18, \"tensor_cast\" : 1]>"
      "(float[2,4] x) => (float[2,4] y) {"
      " y = tensor_cast.add_rms_norm(x) }");
  CHECK(c.lowered.reasons ==
        std::map<std::string, std::string>{
            {"tensor_cast::add_rms_norm",
             "tensor_cast::add_rms_norm lacks its input 2 'residual'"}});
}

// The nodes of a function, as "type type ...".
std::string nodes_of(const ir::Function& function) {
  std::string out;
  for (std::size_t i = 0; i < function.body.node_count(); ++i) {
    const ir::Node& node = function.body.node(ir::NodeId(i));
    if (node.removed) continue;
    CHECK(std::ranges::all_of(
        node.attributes, [](const ir::Attribute& a) { return a.ref.empty(); }));
    if (!out.empty()) out += ' ';
    out += function.body.op(ir::NodeId(i)).type;
  }
  return out;
}

TEST_CASE("calls of the standard's body share it where their types are alike") {
  const Case c(
      "<opset_import: [\"\" : 22]>"
      "(float[2,4] x, float[3,4] z, double[2,4] d, int64[2] t, int64[3] u) =>"
      " (float a, float b, double c) {"
      " a = NegativeLogLikelihoodLoss(x, t)"
      " b = NegativeLogLikelihoodLoss(z, u)"
      " c = NegativeLogLikelihoodLoss(d, t) }");
  REQUIRE(c.lowered.model != nullptr);
  const ir::Model& model = *c.lowered.model;
  CHECK(model.functions.size() == 2);
  const auto called = [&](std::size_t node) {
    return model.find_function(model.graph.op(ir::NodeId(node)));
  };
  CHECK(called(0) == called(1));
  CHECK(called(0) != called(2));
  CHECK(c.lowered.reasons.empty());
}

TEST_CASE("a body of the standard has the values of its attributes") {
  const Case c(
      "<opset_import: [\"\" : 17]>"
      "(int64 n) => (float[N] a, double[N] b) {"
      " a = HannWindow(n)"
      " b = HannWindow<periodic = 0, output_datatype = 11>(n) }");
  REQUIRE(c.lowered.model != nullptr);
  const auto& functions = c.lowered.model->functions;
  REQUIRE(functions.size() == 2);
  CHECK(nodes_of(*functions[0]) == nodes_of(*functions[1]));
  CHECK(functions[0]->opset_imports.version("") ==
        c.lowered.model->opset_imports.version(""));
}

// The functions of a lowered model in which nothing lacks a meaning.
std::size_t function_count(std::string_view text) {
  const Case c(text);
  REQUIRE(c.lowered.model != nullptr);
  CHECK(c.lowered.reasons.empty());
  return c.lowered.model->functions.size();
}

TEST_CASE("a body of the standard is lowered in its turn") {
  // Its body has a NegativeLogLikelihoodLoss, which depends on types.
  CHECK(function_count("<opset_import: [\"\" : 13]>"
                       "(float[2,4] x, int64[2] t) => (float y) {"
                       " y = SoftmaxCrossEntropyLoss(x, t) }") == 2);
}

TEST_CASE("functions of the file have bodies for the types of their calls") {
  // One of the file, and two of it and of the loss.
  CHECK(function_count(
            "<opset_import: [\"\" : 22, \"f\" : 1]>"
            "(float[2,4] x, double[2,4] d, int64[2] t) =>"
            " (float a, double b) {"
            " a = f.loss(x, t) b = f.loss(d, t) }"
            "<domain: \"f\", opset_import: [\"\" : 22]>"
            "loss(x, t) => (y) { y = NegativeLogLikelihoodLoss(x, t) }") == 5);
}

TEST_CASE("a body of the standard that depends on an unknown type is refused") {
  const Case c(
      "<opset_import: [\"\" : 22, \"f\" : 1]>"
      "(float[2,4] x, int64[2] t) => (float y) {"
      " z = f.unknown(x) y = NegativeLogLikelihoodLoss(z, t) }");
  CHECK(c.lowered.reasons == std::map<std::string, std::string>{
                                 {"NegativeLogLikelihoodLoss",
                                  "the standard has no body for this call"}});
}

}  // namespace
}  // namespace ruleengine::runtime
