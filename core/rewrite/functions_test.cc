#include "core/rewrite/functions.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/text/parse.h"

namespace ruleengine::rewrite {
namespace {

std::unique_ptr<ir::Model> parsed(const std::string& functions,
                                  const std::string& body) {
  auto model = text::parse_model(
      "<ir_version: 10, opset_import: [\"\" : 17, \"my\" : 1, "
      "\"ruleengine\" : 1]>\nmain (float[2] x) => (float[2] y) { " +
          body + " }\n" + functions,
      "model");
  if (!model.ok()) FAIL(model.error().text());
  return std::move(*model);
}

std::string function(const std::string& domain, const std::string& name,
                     const std::string& body) {
  return "<domain: \"" + domain + "\", opset_import: [\"\" : 17, \"my\" : 1]>" +
         name + " (x) => (y) { " + body + " }\n";
}

std::string removed(const ir::Model& model) {
  std::string out;
  for (const auto& f : model.functions) {
    if (f->removed) out += (out.empty() ? "" : " ") + std::string(f->name);
  }
  return out;
}

TEST_CASE("rules rewrite bodies, but not those of the engine's own ops") {
  const auto model = parsed(function("my", "F", "y = Relu(x)") +
                                function("ruleengine", "Linear", "y = Abs(x)") +
                                function("ruleengine", "Other", "y = Abs(x)"),
                            "y = Neg(x)");
  const auto graphs = rewritable_graphs(*model);
  REQUIRE(graphs.size() == 3);
  CHECK(graphs[0] == &model->graph);
  CHECK(graphs[1] == &model->functions[0]->body);
  CHECK(graphs[2] == &model->functions[2]->body);
  model->functions[0]->removed = true;
  CHECK(rewritable_graphs(std::as_const(*model)).size() == 2);
}

TEST_CASE(
    "functions are removed with their last call, and functions that only they "
    "called") {
  const auto model =
      parsed(function("my", "F", "a = my.G(x) b = my.G(a) y = my.K(b)") +
                 function("my", "G", "y = my.H(x)") +
                 function("my", "H", "y = Abs(x)") +
                 function("my", "K", "y = Abs(x)") +
                 function("my", "Never", "y = Abs(x)"),
             "a = my.F(x) y = my.K(a)");
  const auto called = called_functions(*model);
  REQUIRE(called.size() == 4);
  remove_uncalled(*model, called);
  CHECK(removed(*model) == "");
  ir::Graph& graph = model->graph;
  graph.mutable_node(ir::NodeId(std::size_t{0})).op =
      model->ops.intern("", "Relu");
  remove_uncalled(*model, called);
  // K is still called from outside; Never was not called before.
  CHECK(removed(*model) == "F G H");
}

TEST_CASE("direct and indirect calls") {
  const auto model = parsed(function("my", "F", "a = Abs(x) y = my.G(a)") +
                                function("my", "G", "y = my.H(x)") +
                                function("my", "H", "y = Abs(x)"),
                            "y = my.F(x)");
  const auto& f = *model->functions[0];
  const auto& h = *model->functions[2];
  CHECK(reaches(f, h));
  CHECK(reaches(f, f));
  CHECK(!reaches(h, f));
}

TEST_CASE("nested functions take linear time") {
  constexpr int kDepth = 20'000;
  std::string functions;
  for (int i = 0; i < kDepth; ++i) {
    functions +=
        function("my", "F" + std::to_string(i),
                 i + 1 < kDepth ? "y = my.F" + std::to_string(i + 1) + "(x)"
                                : "y = Abs(x)");
  }
  const auto model = parsed(functions, "y = my.F0(x)");
  const auto called = called_functions(*model);
  model->graph.mutable_node(ir::NodeId(std::size_t{0})).op =
      model->ops.intern("", "Relu");
  const auto start = std::chrono::steady_clock::now();
  remove_uncalled(*model, called);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  CHECK(called_functions(*model).empty());
  CHECK(took.count() < 2);  // in quadratic time: minutes
}

TEST_CASE("unused imports are removed, except those of the file") {
  const auto model = parsed("", "y = Abs(x)");
  const std::size_t own = model->opset_imports.size();
  model->import_opset("acme", 1);
  remove_unused_imports(*model, own + 1);
  CHECK(model->opset_imports.size() == own + 1);
  remove_unused_imports(*model, own);
  CHECK(model->opset_imports.size() == own);
}

TEST_CASE("single calls are those of functions that are called once") {
  const auto model =
      parsed(function("my", "F", "a = Abs(x) y = my.G(a)") +
                 function("my", "G", "a = Abs(x) y = Exp(a)") +
                 function("my", "H", "y = Exp(x)") +
                 function("my", "K", "a = Exp(x) y = my.H(a)") +
                 function("my", "T", "a = Abs(x) y = Exp(a)") +
                 function("ruleengine", "Linear", "a = Abs(x) y = Exp(a)"),
             "a = my.F(x) b = my.H(a) c = my.H(b) d = my.T(c) e = my.T(d) "
             "y = ruleengine.Linear(e)");
  std::string names;
  for (const ir::NodeId n : single_calls(*model)) {
    names += std::string(model->graph.op(n).type) + " ";
  }
  CHECK(names == "F H H ");
}

TEST_CASE("calls are listed as long as their bodies fit") {
  // Each function calls the one before it twice.
  std::string text = R"(<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
      g (float[2] x) => (float[2] y) { a = f.f3(x) b = f.f1(a) y = f.f29(b) }
      <domain: "f", opset_import: ["" : 21]> f0 (u) => (w) { w = Neg(u) })";
  for (int i = 1; i < 30; ++i) {
    const std::string inner = "f.f" + std::to_string(i - 1);
    text += R"(<domain: "f", opset_import: ["" : 21, "f" : 1]> f)" +
            std::to_string(i) + " (u) => (w) { t = " + inner +
            "(u) w = " + inner + "(t) }";
  }
  const auto model = text::parse_model(text, "model");
  REQUIRE(model.ok());
  const ir::Graph& graph = (*model)->graph;
  const auto names = [&](std::uint64_t most) {
    std::string out;
    for (const ir::NodeId n : calls(**model, most)) {
      out += std::string(graph.op(n).type) + " ";
    }
    return out;
  };
  CHECK(names(2) == "");
  CHECK(names(12) == "f3 ");
  CHECK(names(13) == "f3 f1 ");
  CHECK(names(9) == "f1 ");
  CHECK(names(1'000'000) == "f3 f1 ");
  CHECK(names(1'000'000'000) == "f3 f1 f29 ");
}

TEST_CASE("calls that are nested very deeply are not listed") {
  std::string text = R"(<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
      g (float[2] x) => (float[2] y) { a = f.f65(x) y = f.f64(a) }
      <domain: "f", opset_import: ["" : 21]> f0 (u) => (w) { w = Neg(u) })";
  for (int i = 1; i < 66; ++i) {
    text += R"(<domain: "f", opset_import: ["" : 21, "f" : 1]> f)" +
            std::to_string(i) + " (u) => (w) { w = f.f" +
            std::to_string(i - 1) + "(u) }";
  }
  const auto model = text::parse_model(text, "model");
  REQUIRE(model.ok());
  const auto found = calls(**model, 1000);
  REQUIRE(found.size() == 1);
  CHECK((*model)->graph.op(found[0]).type == "f64");
}

}  // namespace
}  // namespace ruleengine::rewrite
