#include "core/mutate/mutant.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "core/analysis/inference.h"
#include "core/text/parse.h"

namespace ruleengine::mutate {
namespace {

std::unique_ptr<ir::Facts> inferred(ir::Graph& graph) {
  return std::make_unique<analysis::Inference>(graph);
}

std::unique_ptr<ir::Model> read(std::string_view text) {
  auto model = text::parse_model(text, {}, {.check_ops = true});
  if (!model) FAIL(model.error().text());
  return std::move(*model);
}

constexpr std::string_view kLayer =
    "(float[B,4] x) => (float[B,3] y) <float[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, "
    "9, 10, 11, 12}, float[3] b = {1, 2, 3}> "
    "{ p = MatMul(x, w) s = Add(p, b) y = Softmax <axis = -1> (s) }";

TEST_CASE("the same seed gives the same mutant, and others give others") {
  const auto model = read(kLayer);
  std::set<std::string> texts;
  std::set<std::string_view> names;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto changes = draw_changes(seed);
    REQUIRE(!changes.empty());
    REQUIRE(changes.size() <= 4);
    const auto mutant = make_mutant(*model, changes, inferred);
    const auto again = make_mutant(*model, draw_changes(seed), inferred);
    REQUIRE(mutant.has_value() == again.has_value());
    if (!mutant) continue;
    CHECK(mutant->text == again->text);
    CHECK(read(mutant->text)->graph.live_node_count() ==
          mutant->model->graph.live_node_count());
    texts.insert(mutant->text);
    names.insert(name_of(changes[0]));
  }
  CHECK(texts.size() > 80);
  CHECK(names.size() > 15);
}

TEST_CASE("the original stays as it is") {
  const auto model = read(kLayer);
  const auto first = make_mutant(*model, {}, inferred);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    (void)make_mutant(*model, draw_changes(seed), inferred);
  }
  const auto last = make_mutant(*model, {}, inferred);
  REQUIRE((first && last));
  CHECK(first->text == last->text);
}

TEST_CASE("graphs with bodies, without inputs and without nodes") {
  for (const std::string_view text :
       {"() => (float[2] y) <float[2] x = {1, 2}> { y = Neg(x) }",
        "(float[2] x) => (float[2] x) { }",
        "(float[2] x, bool c) => (float[2] y) { y = If(c) <"
        "then_branch = t () => (float[2] a) { a = Neg(x) }, "
        "else_branch = e () => (float[2] b) { b = Abs(x) }> }",
        "(float[2] x) => (float[2] y) { y = com.example.Swish(x) }"}) {
    const auto model = read(text);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      (void)make_mutant(*model, draw_changes(seed), inferred);
    }
  }
}

}  // namespace
}  // namespace ruleengine::mutate
