#include "core/rewrite/raise.h"

#include <doctest/doctest.h>

#include "core/analysis/order.h"
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

// Raised to 23, `before` at `opset` is `after`.
void check(std::int64_t opset, std::string_view before,
           std::string_view after) {
  auto model = parse(graph(opset, before));
  std::uint64_t rank = 0;  // as after a run
  const auto order = analysis::topological_order(model->graph);
  for (ir::NodeId n : *order) model->graph.mutable_node(n).rank = ++rank;
  const Status raised = raise_opset(*model, 23);
  REQUIRE_MESSAGE(raised.ok(), raised.error().found);
  CHECK(model->opset("") == 23);
  const Status sound = verify::check_model(*model);
  CHECK_MESSAGE(sound.ok(), sound.error().what << sound.error().found);
  const auto wanted = parse(graph(23, after));
  std::string why;
  CHECK_MESSAGE(text::equivalent(*wanted, *model, &why),
                why << text::print(*model, {}));
}

TEST_CASE("attributes become inputs, and equal ones one constant") {
  check(
      11,
      "(float[1,4,1] x, float[1,6,1] z) => (float[4] y, float[6] w) {"
      " y = Squeeze <axes = [0,2]> (x) w = Squeeze <axes = [0,2]> (z) }",
      "(float[1,4,1] x, float[1,6,1] z) => (float[4] y, float[6] w)"
      " <int64[2] axes = {0,2}> { y = Squeeze(x, axes) w = Squeeze(z, axes) }");
}

TEST_CASE("what was a default is said") {
  check(17,
        "(float[4,6] x) => (float[2,6] y, float[2,6] z)"
        " { y, z = Split <axis = 0> (x) }",
        "(float[4,6] x) => (float[2,6] y, float[2,6] z)"
        " { y, z = Split <axis = 0, num_outputs = 2> (x) }");
  check(11, "(float[4,6] x) => (float[4,6] y) { y = Softmax(x) }",
        "(float[4,6] x) => (float[4,6] y) { y = Softmax <axis = -1> (x) }");
}

TEST_CASE("names that changed are written anew") {
  check(16,
        "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)"
        " { y = GridSample <mode = \"bilinear\"> (x, g) }",
        "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)"
        " { y = GridSample <mode = \"linear\"> (x, g) }");
}

TEST_CASE("a node that cannot be said is named, and the model as it was") {
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

TEST_CASE("attributes that the callers of a function give stay in doubt") {
  auto model = parse(
      "<ir_version: 8, opset_import: [\"\" : 11, \"f\" : 1]>\n"
      "g (float[2,1] x) => (float[2] y) { y = f.flat <axes = [1]> (x) }\n"
      "<domain: \"f\", opset_import: [\"\" : 11]> flat <axes> (x) => (y)"
      " { y = Squeeze <axes: ints = @axes> (x) }");
  CHECK(!raise_opset(*model, 23).ok());
}

TEST_CASE("at the opset already, nothing is done") {
  auto model = parse(graph(23, "(float[2] x) => (float[2] y) { y = Relu(x) }"));
  CHECK(raise_opset(*model, 23).ok());
  CHECK(!model->changed);
}

}  // namespace
}  // namespace ruleengine::rewrite
