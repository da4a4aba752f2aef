// Walks over models through the C interface.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/support/c_interface.h"

namespace ruleengine::c {
namespace {

std::string of(const re_text& text) { return {text.data, text.size}; }

struct Walked {
  Own<re_walk> own;

  re_graph graph(std::int64_t i) const {
    re_graph out = RE_OPTIONS(re_graph);
    fine(re_walk_graph(own.get(), i, &out));
    return out;
  }
  re_node node(std::int64_t g, std::int64_t i) const {
    re_node out = RE_OPTIONS(re_node);
    fine(re_walk_node(own.get(), g, i, &out));
    return out;
  }
  re_value value(std::int64_t i) const {
    re_value out = RE_OPTIONS(re_value);
    fine(re_walk_value(own.get(), i, &out));
    return out;
  }
  re_attribute attribute(std::int64_t g, std::int64_t n, std::int64_t i) const {
    re_attribute out = RE_OPTIONS(re_attribute);
    fine(re_walk_attribute(own.get(), g, n, i, &out));
    return out;
  }
  // The place of a node in the main graph.
  std::int64_t find(const char* type) const {
    for (std::int64_t i = 0; i < graph(0).node_count; ++i) {
      if (of(node(0, i).type) == type) return i;
    }
    REQUIRE_MESSAGE(false, std::string(type));
    return 0;
  }
};

Walked walk_of(re_model* model) {
  re_walk* walk = nullptr;
  fine(re_walk_new(model, nullptr, &walk));
  return {Own<re_walk>(walk)};
}

TEST_CASE("a walk shows graphs, nodes and values") {
  Own<re_model> model = model_of(kLayered);
  const Walked walk = walk_of(model.get());
  model.reset();
  REQUIRE(re_walk_graphs(walk.own.get()) == 4);
  const re_graph main = walk.graph(0);
  CHECK(main.kind == RE_GRAPH_MAIN);
  CHECK(of(main.name) == "m");
  REQUIRE(main.input_count == 2);
  REQUIRE(main.initializer_count == 1);
  const re_value x = walk.value(main.inputs[0]);
  CHECK(of(x.name) == "x");
  CHECK(x.origin == RE_ORIGIN_INPUT);
  CHECK(x.type == 1);
  REQUIRE(x.rank == 2);
  CHECK(x.shape[0].value == 2);
  CHECK(x.shape[1].value == RE_NOTHING);
  CHECK(of(x.shape[1].name) == "N");
  CHECK(x.readers == 3);

  const std::size_t concat = walk.find("Concat");
  const re_value t = walk.value(walk.node(0, concat).outputs[0]);
  CHECK(t.origin == RE_ORIGIN_NODE);
  CHECK(t.graph == 0);
  CHECK(static_cast<std::size_t>(t.node) == concat);
  CHECK(of(t.shape[1].name) == "2*N");  // inferred, through the function

  const std::size_t call = walk.find("twice");
  const auto function = walk.node(0, call).function;
  REQUIRE(function == 3);
  const re_graph body = walk.graph(static_cast<std::size_t>(function));
  CHECK(body.kind == RE_GRAPH_FUNCTION);
  CHECK(of(body.domain) == "own");
  CHECK(of(body.type) == "twice");
  CHECK(body.node_count == 1);
  CHECK(walk.node(0, concat).function == RE_NOTHING);

  const std::size_t branch = walk.find("If");
  REQUIRE(walk.node(0, branch).attribute_count == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const re_attribute a = walk.attribute(0, branch, i);
    CHECK(a.kind == 5);
    REQUIRE(a.count == 1);
    const re_graph each = walk.graph(static_cast<std::size_t>(a.graphs[0]));
    CHECK(each.kind == RE_GRAPH_BODY);
    CHECK(each.parent == 0);
    CHECK(static_cast<std::size_t>(each.parent_node) == branch);
    CHECK(each.node_count == 1);
    CHECK(of(each.name) == (of(a.name) == "then_branch" ? "a" : "b"));
  }
  const re_node clip = walk.node(0, walk.find("Clip"));
  REQUIRE(clip.input_count == 3);
  CHECK(clip.inputs[1] == RE_NOTHING);
  // Constants come before what reads them, wherever the file has them.
  CHECK(walk.value(clip.inputs[2]).node <
        static_cast<std::int64_t>(walk.find("Clip")));
}

TEST_CASE("a walk shows attributes and tensors where they are") {
  const Own<re_model> text = model_of(kLayered);
  const std::string bytes = bytes_of(text.get());
  re_model* parsed = nullptr;
  fine(re_model_parse(bytes.data(), bytes.size(), nullptr, nullptr, &parsed));
  const Own<re_model> model(parsed);
  const Walked walk = walk_of(parsed);
  const re_graph main = walk.graph(0);
  re_tensor w;
  fine(re_walk_constant(walk.own.get(), main.initializers[0], &w));
  CHECK(w.type == 1);
  REQUIRE(w.rank == 1);
  CHECK(w.shape[0] == 2);
  float numbers[2];
  REQUIRE(w.size == sizeof(numbers));
  std::memcpy(numbers, w.data, sizeof(numbers));
  CHECK(numbers[1] == 2);
  re_tensor again;
  fine(re_walk_constant(walk.own.get(), main.initializers[0], &again));
  CHECK(again.data == w.data);
  CHECK(kind_of(re_walk_constant(walk.own.get(), main.inputs[0], &w)) ==
        RE_ERROR_USAGE);
  std::size_t strings = 0, tensors = 0;
  for (std::int64_t i = 0; i < main.node_count; ++i) {
    for (std::int64_t a = 0; a < walk.node(0, i).attribute_count; ++a) {
      const re_attribute its = walk.attribute(0, i, a);
      if (its.kind == 8) {
        ++strings;
        REQUIRE(its.count == 2);
        CHECK(of(its.strings[1]) == "two");
      }
      if (its.kind == 4) {
        ++tensors;
        re_tensor tensor;
        fine(re_walk_tensor(walk.own.get(), 0, i, a, 0, &tensor));
        CHECK(tensor.rank == 0);
        CHECK(kind_of(re_walk_tensor(walk.own.get(), 0, i, a, 1, &tensor)) ==
              RE_ERROR_USAGE);
      }
      if (of(its.name) == "axis") CHECK(its.i == 1);
    }
  }
  CHECK(strings == 1);
  CHECK(tensors == 1);
}

TEST_CASE("a walk of a result has nothing that rules removed") {
  const Own<re_model> model = model_of(
      "g (float[2] x, bool c) => (float[2] y) <bool yes = {1}> {\n"
      "  a = If (yes) <then_branch = t () => (float[2] p) { p = Neg(x) },\n"
      "                else_branch = e () => (float[2] q) { q = Abs(x) }>\n"
      "  y = If (c) <then_branch = u () => (float[2] r) { r = Exp(a) },\n"
      "              else_branch = f () => (float[2] s) { s = Tanh(a) }>\n"
      "}");
  re_rules_options options = RE_OPTIONS(re_rules_options);
  const char* pack = "simplify";
  options.packs = &pack;
  options.pack_count = 1;
  const Own<re_model> result = result_of(rules_with(options), model);
  const Walked before = walk_of(model.get()), after = walk_of(result.get());
  CHECK(re_walk_graphs(before.own.get()) == 5);
  CHECK(re_walk_graphs(after.own.get()) == 3);
  CHECK(re_walk_values(after.own.get()) < re_walk_values(before.own.get()));
  for (std::int64_t i = 0;
       i < static_cast<std::int64_t>(re_walk_values(after.own.get())); ++i) {
    CHECK(after.value(i).name.size > 0);
  }
  for (std::int64_t i = 1; i < 3; ++i) {
    CHECK(after.graph(i).kind == RE_GRAPH_BODY);
    CHECK(of(after.node(0, after.graph(i).parent_node).type) == "If");
  }
}

TEST_CASE("numbers that a walk does not have") {
  const Own<re_model> model = model_of(kModel);
  const Walked walk = walk_of(model.get());
  re_graph graph = RE_OPTIONS(re_graph);
  re_node node = RE_OPTIONS(re_node);
  re_value value = RE_OPTIONS(re_value);
  re_attribute attribute = RE_OPTIONS(re_attribute);
  re_walk* its = walk.own.get();
  CHECK(kind_of(re_walk_graph(its, 1, &graph)) == RE_ERROR_USAGE);
  CHECK(kind_of(re_walk_node(its, 1, 0, &node)) == RE_ERROR_USAGE);
  CHECK(kind_of(re_walk_node(its, 0, 3, &node)) == RE_ERROR_USAGE);
  CHECK(kind_of(re_walk_value(its, RE_NOTHING, &value)) == RE_ERROR_USAGE);
  CHECK(kind_of(re_walk_attribute(its, 0, 0, 0, &attribute)) == RE_ERROR_USAGE);
  CHECK(kind_of(re_walk_graph(nullptr, 0, &graph)) == RE_ERROR_USAGE);
  CHECK(kind_of(re_walk_graph(its, 0, nullptr)) == RE_ERROR_USAGE);
  graph.size = 0;
  CHECK(kind_of(re_walk_graph(its, 0, &graph)) == RE_ERROR_USAGE);
  // An older caller's struct is shorter.
  node.size = offsetof(re_node, inputs);
  node.attribute_count = 77;
  fine(re_walk_node(its, 0, 0, &node));
  CHECK(of(node.type) == "Identity");
  CHECK(node.attribute_count == 77);
}

}  // namespace
}  // namespace ruleengine::c
