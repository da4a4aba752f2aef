// Types that may be wrong where sizes are 0.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/analysis/inference.h"
#include "core/ir/shapes.h"
#include "core/text/parse.h"

namespace ruleengine::analysis {
namespace {

// A graph over x of [B,4,S,8], and its Facts. Shapes for a Reshape: `rows` is
// (B, S, 32), `folded` (4 * B, S, 8).
struct Doubting {
  explicit Doubting(const std::string& nodes, const std::string& inputs = "",
                    const std::string& functions = "") {
    const std::string text =
        "<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]> "
        "g (float[B,4,S,8] x" +
        inputs +
        ") => (float out) "
        "<int64[1] four = {4}, int64[1] width = {32}, int64[1] eight = {8},"
        " int64[1] zero = {0}, int64[1] two = {2}> {"
        " w = Shape(x)"
        " b = Gather <axis = 0> (w, zero) s = Gather <axis = 0> (w, two)"
        " rows = Concat <axis = 0> (b, s, width)"
        " b4 = Mul(b, four) folded = Concat <axis = 0> (b4, s, eight) " +
        nodes + " }" + functions;
    auto parsed = text::parse_model(text);
    REQUIRE_MESSAGE(parsed.ok(), (parsed ? "" : parsed.error().text()));
    model = *std::move(parsed);
    facts = std::make_unique<Inference>(model->graph);
    facts->settle_doubts();
  }

  ir::ValueId value(const std::string& name) const {
    for (std::size_t i = 0; i < model->graph.value_count(); ++i) {
      if (model->graph.name(ir::ValueId(i)) == name) return ir::ValueId(i);
    }
    FAIL("no value ", name);
    return {};
  }
  bool about(const std::string& name) const {
    const ir::ValueId one[] = {value(name)};
    return facts->doubt(one).has_value();
  }

  std::unique_ptr<ir::Model> model;
  std::unique_ptr<Inference> facts;
};

TEST_CASE("a size that copies another one is in doubt, as are its users") {
  const Doubting d("y = Reshape(x, rows) out = Relu(y)");
  CHECK(ir::type_text(d.model->dims, *d.facts->type(d.value("y"))) ==
        "float[B,S,32]");
  CHECK(d.about("y"));
  CHECK(d.about("out"));
  CHECK_FALSE(d.about("x"));
  CHECK_FALSE(d.about("rows"));
}

TEST_CASE("a size that copies itself is not in doubt") {
  CHECK_FALSE(Doubting("t = Transpose <perm = [0,2,1,3]> (x)"
                       "out = Reshape(t, rows)")
                  .about("out"));
  CHECK_FALSE(Doubting("out = Reshape <allowzero = 1> (x, rows)").about("out"));
}

TEST_CASE("models that cannot run at the sizes in doubt") {
  CHECK_FALSE(
      Doubting("y = Reshape(x, rows) out = Add(y, z)", ", float[B,S,32] z")
          .about("out"));
  CHECK(Doubting("y = Reshape(x, rows) out = Add(y, z)", ", float[B,1,32] z")
            .about("out"));
  // [0,4,8] has no fourth axis to copy.
  CHECK_FALSE(Doubting("y = Reshape(x, folded)"
                       "back = Concat <axis = 0> (b, four, eight, s)"
                       "out = Reshape(y, back)")
                  .about("out"));
  // Runtimes skip values without elements.
  CHECK(Doubting("y = Reshape(x, rows) out = Concat <axis = 2> (y, z)",
                 ", float[B,S,3] z")
            .about("out"));
  // The node that fails is not needed for any result.
  CHECK(Doubting("out = Reshape(x, rows) y = Add(out, z)", ", float[B,S,32] z")
            .about("out"));
}

TEST_CASE("sizes that are 0 although no named size is") {
  // [N // 2, 4, S // 2, 8]; for N = S = 1 both are 0.
  const std::string half =
      "h = Slice(n, one, far, ends, step) w2 = Shape(h)"
      "b2 = Gather <axis = 0> (w2, zero) s2 = Gather <axis = 0> (w2, two)"
      "k = Concat <axis = 0> (b2, s2, width) out = Reshape(h, k)"
      "one = Constant <value = int64[2] {1,1}> ()"
      "far = Constant <value = int64[2] {999,999}> ()"
      "ends = Constant <value = int64[2] {0,2}> ()"
      "step = Constant <value = int64[2] {2,2}> ()";
  CHECK(Doubting(half, ", float[N,4,T,8] n").about("out"));
}

TEST_CASE("more named sizes than are tried") {
  CHECK(Doubting("w6 = Shape(z) p = Gather <axis = 0> (w6, order)"
                 "k = Concat <axis = 0> (p, eight) y = Reshape(z, k)"
                 "out = Add(y, v)"
                 "order = Constant <value = int64[5] {0,1,4,2,3}> ()",
                 ", float[A,D,E,F,G,8] z, float[A,D,G,E,F,8] v")
            .about("out"));
}

TEST_CASE("bodies that read or contain a value in doubt") {
  const Doubting d(
      "y = Reshape(x, rows)"
      "out = If (c) <then_branch = t () => (float[N] p) { p = Relu(y) },"
      "              else_branch = e () => (float[N] q) { q = Neg(v) }>",
      ", bool c, float[K] v");
  CHECK(d.about("out"));
  const Doubting in(
      "out = If (c) <then_branch = t () => (float[N] p) {"
      "                p = Reshape(x, rows) },"
      "              else_branch = e () => (float[N] q) { q = Neg(v) }>",
      ", bool c, float[K] v");
  CHECK(in.about("out"));
  const Doubting loop(
      "y = Reshape(x, rows)"
      "out = Loop (n, c, y) <body = l (int64 i, bool go, float[A,D,32] u)"
      "   => (bool on, float[A,D,32] r) { on = Identity(go) r = Relu(u) }>",
      ", bool c, int64 n");
  CHECK(loop.about("r"));
}

TEST_CASE("functions of the model") {
  const std::string fold =
      "<domain: \"local\", opset_import: [\"\" : 21]>"
      "Fold (a, k) => (r) { r = Reshape(a, k) }";
  const Doubting d("out = local.Fold(x, rows)", "", fold);
  CHECK(d.about("out"));
  const Doubting fits(
      "t = Transpose <perm = [0,2,1,3]> (x) out = local.Fold(t, rows)", "",
      fold);
  CHECK_FALSE(fits.about("out"));
}

TEST_CASE("nodes that are added later") {
  for (const bool runs : {true, false}) {
    CAPTURE(runs);
    Doubting d(runs ? "out = Reshape(x, rows)"
                    : "y = Reshape(x, rows) out = Add(y, z)",
               runs ? "" : ", float[B,S,32] z");
    ir::Graph& graph = d.model->graph;
    const ir::ValueId inputs[] = {d.value("x"), d.value("rows")};
    const ir::ValueId result = graph.add_value({}, ir::Graph::main_block(),
                                               ir::ValueKind::kNodeOutput);
    const ir::NodeId node =
        graph.add_node(d.model->ops.intern("", "Reshape"),
                       ir::Graph::main_block(), "", inputs, {&result, 1}, {});
    d.facts->invalidate(node);
    CHECK(d.facts->type(result) != nullptr);
    CHECK(d.facts->doubt({&result, 1}).has_value() == runs);
  }
}

}  // namespace
}  // namespace ruleengine::analysis
