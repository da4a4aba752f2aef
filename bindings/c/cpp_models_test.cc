// The layer for C++ over the C interface: tensors, comparing, walks.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/c/ruleengine.hpp"
#include "tests/support/c_interface.h"
#include "tests/support/cpp_interface.h"

namespace ruleengine::c {
namespace {

static_assert(std::is_nothrow_move_assignable_v<re::Walk>);

using Nodes = decltype(std::declval<re::Graph>().nodes());
static_assert(std::ranges::input_range<Nodes>);
static_assert(std::ranges::sized_range<Nodes>);

TEST_CASE("C++: tensors have a type, and are not copied") {
  const re::Model model = parsed(
      "m (float[2,N] x, string[1] t) => (float[2,N] y, seq(string[1]) z) "
      "{ y = Neg(x)  z = SequenceConstruct(t, t) }");
  const re::Session session =
      got(re::Session::make(model, {.threads = 1, .seed = 3}));
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::array<std::int64_t, 2> shape = {2, 3};
  const std::array<re_text, 1> t = {re::text("abc")};
  const std::array<std::int64_t, 1> one = {1};
  const re::Tensor input = re::Tensor::of("x", x, shape);
  CHECK(static_cast<const void*>(input.bytes().data()) == x.data());
  CHECK(got(input.as<float>()).data() == x.data());
  const std::vector<re::Tensor> inputs = {input, re::Tensor::of("t", t, one)};
  const re::Values values = got(session.run(inputs));
  REQUIRE(values.size() == 2);
  const std::span<const float> y = got(values[0].as<float>());
  REQUIRE(y.size() == 6);
  CHECK(y[5] == -6);
  re_tensor raw;
  fine(re_values_tensor(values.get(), 0, 0, &raw));
  CHECK(y.data() == raw.data);
  const re::Tensor tensor = got(values[0].tensor());
  CHECK(tensor.name() == "y");
  CHECK(tensor.shape().data() == raw.shape);
  CHECK(tensor.shape()[1] == 3);
  CHECK(values[1].kind() == RE_VALUE_SEQUENCE);
  CHECK(values[1].items() == 2);
  CHECK(re::view(got(values[1].as<re_text>(1))[0]) == "abc");
  CHECK(failed(values[1].tensor(2)).kind() == RE_ERROR_USAGE);
  CHECK(failed(values[7].as<float>()).kind() == RE_ERROR_USAGE);
  std::size_t tensors = 0;
  for (const re::Output each : values)
    tensors += each.kind() == RE_VALUE_TENSOR;
  CHECK(tensors == 1);

  const re::Error wrong = failed(tensor.as<std::int64_t>());
  CHECK(wrong.kind() == RE_ERROR_USAGE);
  CHECK(wrong.expected() == "int64");
  CHECK(wrong.found() == "float");
  std::array<float, 6> copy = {};
  went_well(tensor.copy_to(std::span<float>(copy)));
  CHECK(copy[5] == -6);
  CHECK(!tensor.copy_to(std::span<float>(copy).first(5)));
  std::array<std::int32_t, 6> other = {};
  CHECK(!tensor.copy_to(std::span<std::int32_t>(other)));
  CHECK(failed(session.run({input})).kind() == RE_ERROR_MODEL);

  alignas(8) const std::array<char, 9> bytes = {0, 1, 0, 0, 0, 0, 0, 0, 0};
  const re::Tensor apart(
      {"", 6, 1, one.data(), bytes.data() + 1, sizeof(std::int32_t)});
  CHECK(failed(apart.as<std::int32_t>()).kind() == RE_ERROR_USAGE);
  std::array<std::int32_t, 1> number = {};
  went_well(apart.copy_to(std::span<std::int32_t>(number)));
  CHECK(number[0] == 1);
  const char truth[] = {1, 2};
  const re::Tensor bools({"", 9, 1, one.data(), truth, 1});
  CHECK(got(bools.as<bool>())[0]);
  CHECK(!re::Tensor({"", 9, 1, shape.data(), truth, 2}).as<bool>());
  CHECK(re::Tensor().name().empty());
}

TEST_CASE("C++: comparing models, with rules for their ops") {
  const re::Model one = parsed(kModel);
  const re::Model other =
      parsed("m (float[2,N] x) => (float[2,N] y) { y = Neg(x) }");
  CHECK(got(re::compare(one, one)).json().find("\"difference\": \"\"") !=
        std::string_view::npos);
  const re::Error error = failed(re::compare(one, other));
  CHECK(error.kind() == RE_ERROR_VERIFY);
  REQUIRE(error.report() != nullptr);
  CHECK(error.report()->json().find("shown_by") != std::string_view::npos);
  CHECK(got(re::compare(one, other, {.absolute = 1e30})));
  CHECK(failed(re::compare(one, other, {.relative = -1})).kind() ==
        RE_ERROR_USAGE);
  CHECK(failed(re::compare(one, other, {.threads = -1})).kind() ==
        RE_ERROR_USAGE);

  const re::Rules rules = loaded(
      "return rule { match = function(op, x) return op.Relu(op.Relu(x)) end, "
      "rewrite = function(op, m) return op.mine.Same(m.x) end, "
      "body = { ['mine.Same'] = [[(x) => (y) { y = Neg(x) }]] } }");
  const re::Model own = parsed(
      "<ir_version: 8, opset_import: [\"\" : 17, \"mine\" : 1]>\n"
      "m (float[2,N] x) => (float[2,N] y) { y = mine.Same(x) }");
  CHECK(!re::Session::make(own));
  CHECK(got(re::Session::make(own, {.rules = &rules})));
  CHECK(!re::compare(own, other));
  CHECK(got(re::compare(own, other, {.rules = &rules})));
}

TEST_CASE("C++: a walk over graphs, nodes and values") {
  re::Model model = parsed(kLayered);
  re::Walk made = got(re::Walk::make(model));
  model = {};
  const re::Graph main = made.main();
  const re::Walk walk = std::move(made);  // views stay valid
  CHECK(main.name() == "m");
  CHECK(main.kind() == RE_GRAPH_MAIN);
  CHECK(!main.parent());
  CHECK(walk.graphs().size() == 4);
  REQUIRE(main.inputs().size() == 2);
  const re::Value x = walk.value(main.inputs()[0]);
  CHECK(x.name() == "x");
  CHECK(x.origin() == RE_ORIGIN_INPUT);
  CHECK(x.type() == 1);
  CHECK(x.has_shape());
  CHECK(x.readers() == 3);
  CHECK(!x.node());
  CHECK(!x.is_constant());
  CHECK(failed(x.constant()).kind() == RE_ERROR_USAGE);
  REQUIRE(x.shape().size() == 2);
  CHECK(x.shape()[0].value == 2);
  CHECK(re::view(x.shape()[1].name) == "N");

  std::size_t branches = 0, seen = 0;
  for (const re::Node node : main.nodes()) {
    CHECK(node.number() == seen++);
    CHECK(node.graph().number() == 0);
    re_node raw = RE_OPTIONS(re_node);
    fine(re_walk_node(walk.get(), 0, node.number(), &raw));
    CHECK(node.inputs().data() == raw.inputs);
    CHECK(node.type().data() == raw.type.data);
    if (const auto output = node.output(0)) {
      CHECK(output->origin() == RE_ORIGIN_NODE);
      CHECK(output->node()->number() == node.number());
    }
    if (node.type() == "twice") {
      CHECK(node.domain() == "own");
      REQUIRE(node.function());
      CHECK(node.function()->kind() == RE_GRAPH_FUNCTION);
      CHECK(node.function()->type() == "twice");
      CHECK(node.function()->domain() == "own");
      CHECK(node.function()->node(0).type() == "Add");
    } else {
      CHECK(!node.function());
    }
    if (node.type() == "Concat") {
      REQUIRE(node.attribute("axis"));
      CHECK(node.attribute("axis")->i() == 1);
      CHECK(!node.attribute("axes"));
      CHECK(node.input(1)->name() == "x");
    }
    if (node.type() == "Clip") {
      REQUIRE(node.inputs().size() == 3);
      CHECK(!node.input(1));
      CHECK(!node.input(9));
      CHECK(got(got(node.input(2)->constant()).as<float>())[0] == 3);
    }
    if (node.type() != "If") continue;
    for (const re::Attribute each : node.attributes()) {
      ++branches;
      REQUIRE(each.graphs().size() == 1);
      const re::Graph body = each.graph();
      CHECK(body.name() == (each.name() == "then_branch" ? "a" : "b"));
      CHECK(body.kind() == RE_GRAPH_BODY);
      REQUIRE(body.parent());
      CHECK(body.parent()->number() == node.number());
      CHECK(body.nodes().size() == 1);
    }
  }
  CHECK(branches == 2);
  CHECK(seen == main.nodes().size());
  std::size_t named = 0;
  for (const re::Value each : walk.values()) named += each.name() == "w";
  CHECK(named == 1);
}

TEST_CASE("C++: a walk shows attributes and constants where they are") {
  const std::string bytes = written(parsed(kLayered));
  const re::Model model = got(re::Model::parse(bytes_in(bytes)));
  const re::Walk walk = got(re::Walk::make(model));
  const re::Value w = walk.value(walk.main().initializers()[0]);
  CHECK(w.is_constant());
  const re::Tensor tensor = got(w.constant());
  re_tensor raw;
  fine(re_walk_constant(walk.get(), w.number(), &raw));
  CHECK(static_cast<const void*>(tensor.bytes().data()) == raw.data);
  std::array<float, 2> numbers = {};
  went_well(tensor.copy_to(std::span<float>(numbers)));
  CHECK(numbers[1] == 2);
  std::size_t kinds = 0;
  for (const re::Node node : walk.main().nodes()) {
    if (const auto its = node.attribute("value_strings")) {
      ++kinds;
      CHECK(its->kind() == 8);
      REQUIRE(its->strings().size() == 2);
      CHECK(re::view(its->strings()[1]) == "two");
      CHECK(its->ints().empty());
      CHECK(its->reference().empty());
      CHECK(!its->proto().empty());
    }
    if (const auto its = node.attribute("value_ints")) {
      ++kinds;
      REQUIRE(its->ints().size() == 2);
      CHECK(its->ints()[1] == 4);
    }
    if (const auto its = node.attribute("value_floats")) {
      ++kinds;
      REQUIRE(its->floats().size() == 1);
      CHECK(its->floats()[0] == 0.5f);
      CHECK(its->count() == 1);
      CHECK(failed(its->tensor()).kind() == RE_ERROR_USAGE);
    }
    if (const auto its = node.attribute("value")) {
      ++kinds;
      CHECK(got(its->tensor()).shape().empty());
      CHECK(got(its->tensor()).bytes().size() == sizeof(float));
      CHECK(failed(its->tensor(1)).kind() == RE_ERROR_USAGE);
    }
  }
  CHECK(kinds == 4);
}

}  // namespace
}  // namespace ruleengine::c
