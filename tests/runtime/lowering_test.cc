// Lowering, where only ops of the standard have kernels.
#include "runtime/lowering.h"

#include <doctest/doctest.h>

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
    auto made = lower(*model, {.find_kernel = find_standard_kernel});
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
  const auto lowered = lower(*model, {.find_kernel = find_standard_kernel});
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

}  // namespace
}  // namespace ruleengine::runtime
