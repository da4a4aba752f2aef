#include "core/ops/upgrade.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/ir/model.h"
#include "core/text/parse.h"
#include "core/text/print.h"

namespace ruleengine::ops {
namespace {

// Facts that the graph itself states.
class PlainFacts : public ir::Facts {
 public:
  explicit PlainFacts(const ir::Graph& graph) : graph_(graph) {}
  const ir::Type* type(ir::ValueId v) override {
    return graph_.value(v).declared;
  }
  bool is_constant(ir::ValueId v) override { return constant(v) != nullptr; }
  const ir::Literal* constant(ir::ValueId v) override {
    return graph_.direct_constant(v);
  }
  std::optional<std::span<const ir::Dim>> dims_of(ir::ValueId) override {
    return {};
  }
  void invalidate(ir::NodeId) override {}
  std::vector<std::string> take_warnings() override { return {}; }

 private:
  const ir::Graph& graph_;
};

struct World {
  World(int opset, std::string_view node) {
    auto parsed = text::parse_model(
        "<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) +
        "]> g (float[B,3,8] x, float16[3,8] h, int64[2] run, float[8] s) => "
        "(y) <int64[1] last = {-1}, int64[2] two = {0, -1}, float half = "
        "{0.5}, bool no = {0}, bool yes = {1}, int64[2] ones = {1, 1}, "
        "int64[2] zeros = {0, 0}> {" +
        std::string(node) + "}");
    if (!parsed) FAIL(parsed.error().text());
    model = std::move(*parsed);
    facts = std::make_unique<PlainFacts>(model->graph);
  }

  std::string value(ir::ValueId v) const {
    const ir::Graph& g = model->graph;
    if (!v) return "-";
    const ir::Literal* t = g.value(v).tensor;
    if (!g.name(v).empty() || t == nullptr) return std::string(g.name(v));
    return text::tensor_text(*t, nullptr, {});
  }
  std::string form(const std::vector<ir::ValueId>& inputs,
                   const std::vector<ir::Attribute>& attributes) const {
    std::string out = "(";
    for (ir::ValueId v : inputs) out += (out.size() > 1 ? ", " : "") + value(v);
    out += ")";
    for (const ir::Attribute& a : attributes) {
      out += " " + text::attribute_text(model->graph, a);
    }
    return out;
  }

  std::unique_ptr<ir::Model> model;
  std::unique_ptr<PlainFacts> facts;
};

// The newest form of the first node.
std::string newest(int opset, std::string_view node) {
  World w(opset, node);
  Upgrades upgrades(w.model->graph, opset);
  if (!upgrades.needed(w.model->graph.node(ir::NodeId(0u)).op))
    return "as it is";
  NewestForm form;
  upgrades.view(ir::NodeId(0u), *w.facts, form);
  return form.readable ? w.form(form.inputs, form.attributes) : "unreadable";
}

// A node of the newest form (opset 21), written at the older opset.
std::string older(int opset, std::string_view node) {
  World w(21, node);
  const ir::Graph& g = w.model->graph;
  const ir::NodeId id(0u);
  std::vector<ir::ValueId> inputs;
  for (const ir::Operand& use : g.inputs(id)) inputs.push_back(use.value);
  const auto list = g.node(id).attributes;
  const auto form = to_opset(g, g.op(id).domain, g.op(id).type, inputs,
                             {list.begin(), list.end()}, opset, *w.facts);
  if (!form) return form.error().what + ": " + form.error().expected;
  return w.form(form->inputs, form->attributes);
}

TEST_CASE("attributes that became inputs read as constants") {
  CHECK(newest(12, "y = Squeeze <axes = [0, 2]> (x)") ==
        "(x, int64[2] {0, 2})");
  CHECK(newest(13, "y = Squeeze(x, last)") == "as it is");
  CHECK(newest(12, "y = Squeeze(x)") == "(x)");
  CHECK(newest(12, "y = ReduceSum <axes = [1], keepdims = 0> (x)") ==
        "(x, int64[1] {1}) keepdims = 0");
  CHECK(newest(17, "y = ReduceMean <axes = [-1]> (x)") == "(x, int64[1] {-1})");
  CHECK(newest(11, "y = Dropout <ratio = 0.25> (x)") == "(x, float {0.25})");
  CHECK(newest(10, "y = Clip <max = 6.0> (h)") == "(h, -, float16 {17920})");
  CHECK(newest(10, "y = Pad <pads = [0,1], mode = \"edge\"> (x)") ==
        "(x, int64[2] {0, 1}) mode = \"edge\"");
  CHECK(newest(9, "y = Slice <starts = [0], ends = [4], axes = [1]> (x)") ==
        "(x, int64[1] {0}, int64[1] {4}, int64[1] {1})");
  CHECK(newest(9, "y = TopK <k = 3> (x)") == "(x, int64[1] {3})");
  CHECK(newest(4, "y = Reshape <shape = [0,-1]> (x)") ==
        "(x, int64[2] {0, -1})");
}

TEST_CASE(
    "a hidden constant is created once, and again for another attribute") {
  World w(12, "y = Squeeze <axes = [0]> (x)");
  ir::Graph& g = w.model->graph;
  Upgrades upgrades(g, 12);
  NewestForm form, again;
  upgrades.view(ir::NodeId(0u), *w.facts, form);
  const std::size_t count = g.value_count();
  upgrades.view(ir::NodeId(0u), *w.facts, again);
  CHECK(form.inputs == again.inputs);
  CHECK(g.value_count() == count);
  const std::vector<std::int64_t> axes = {2};
  const std::vector<ir::Attribute> list = {
      {.name = "axes", .kind = ir::AttributeKind::kInts, .ints = axes}};
  g.mutable_node(ir::NodeId(0u)).attributes = list;
  upgrades.view(ir::NodeId(0u), *w.facts, again);
  CHECK(w.value(again.inputs[1]) == "int64[1] {2}");
  // The graph does not contain it until it is used.
  CHECK(text::print(*w.model).find("{2}") == std::string::npos);
}

TEST_CASE("old Softmax flattens; on the last axis the result is the same") {
  CHECK(newest(12, "y = Softmax <axis = 2> (x)") == "(x) axis = -1");
  CHECK(newest(12, "y = Softmax <axis = -1> (x)") == "(x) axis = -1");
  CHECK(newest(12, "y = Softmax(h)") == "(h) axis = -1");
  CHECK(newest(12, "y = LogSoftmax(x)") == "unreadable");
  CHECK(newest(13, "y = Softmax(x)") == "as it is");
  CHECK(older(12, "y = Softmax <axis = -1> (x)") == "(x) axis = 2");
  CHECK(older(12, "y = Softmax(x)") == "(x) axis = 2");
  CHECK(older(12, "y = Softmax <axis = 1> (x)") ==
        "opset 12 cannot express this Softmax: the last axis");
}

TEST_CASE("explicit broadcasting") {
  CHECK(newest(6, "y = Add <broadcast = 1> (x, s)") == "(x, s)");
  CHECK(newest(6, "y = Add <broadcast = 1, axis = 2> (x, s)") == "(x, s)");
  CHECK(newest(6, "y = Add <broadcast = 1, axis = 0> (x, s)") == "unreadable");
  CHECK(newest(7, "y = Add(x, s)") == "as it is");
  CHECK(older(6, "y = Add(x, x)") == "(x, x)");
  CHECK(older(6, "y = Add(x, s)") == "(x, s) broadcast = 1");
  CHECK(
      older(6, "y = Add(s, x)").starts_with("opset 6 cannot express this Add"));
}

TEST_CASE("ops whose meaning changed") {
  CHECK(newest(6, "y = Dropout <is_test = 1, ratio = 0.5> (x)") ==
        "(x, float {0.5})");
  CHECK(newest(6, "y = Dropout(x)") == "unreadable");  // in training
  CHECK(newest(7, "y = Dropout(x)") == "(x)");
  CHECK(newest(9, "y, m = Dropout(x)") == "unreadable");  // floats
  CHECK(newest(11, "y, m = Dropout(x)") == "(x)");
  // All false in ONNX Runtime, all true from opset 12 on.
  CHECK(newest(11, "y, m = Dropout(x) n = Not(m)") == "unreadable");
  CHECK(newest(12, "y, m = Dropout(x) n = Not(m)") == "as it is");
  CHECK(newest(8, "y = BatchNormalization <spatial = 1> (x, s, s, s, s)") ==
        "(x, s, s, s, s)");
  CHECK(newest(8, "y = BatchNormalization <spatial = 0> (x, s, s, s, s)") ==
        "unreadable");
  CHECK(newest(9, "y, m, v, a, b = BatchNormalization(x, s, s, s, s)") ==
        "unreadable");
  CHECK(newest(5, "y = Cast <to = \"FLOAT16\"> (x)") == "(x) to = 10");
  CHECK(newest(5, "y = Cast <to = 10> (x)") == "(x) to = 10");
  CHECK(newest(5, "y = Relu <consumed_inputs = [0]> (x)") == "(x)");
  CHECK(newest(3, "y = Concat(x, x)") == "(x, x) axis = 1");
  CHECK(newest(17, "a, y = Split <axis = 2> (x)") ==
        "(x) axis = 2 num_outputs = 2");
  CHECK(newest(12, "a, y = Split <split = [1, 2], axis = 1> (x)") ==
        "(x, int64[2] {1, 2}) axis = 1");
  CHECK(newest(10, "y = Resize(x, s)") == "unreadable");
  CHECK(newest(17, "y = my.Split(x)") == "as it is");
}

TEST_CASE("downgrade: inputs that were attributes") {
  CHECK(older(12, "y = Squeeze(x, two)") == "(x) axes = [0, -1]");
  CHECK(older(13, "y = Squeeze(x, two)") == "(x, two)");
  CHECK(older(12, "y = Squeeze(x, run)") ==
        "opset 12 cannot express this Squeeze: a constant, since 'axes' is an "
        "attribute before opset 13");
  CHECK(older(11, "y = Dropout(x, half, no)") == "(x) ratio = 0.5");
  CHECK(older(11, "y = Dropout(x, half, yes)") ==
        "opset 11 cannot express this Dropout: no input 2");
  CHECK(older(6, "y = Dropout(x, half)") == "(x) is_test = 1 ratio = 0.5");
  CHECK(older(9, "y = Slice(x, zeros, ones, two, ones)") ==
        "(x) axes = [0, 2] ends = [1, 1] starts = [0, 0]");
  CHECK(older(9, "y = Slice(x, zeros, ones, two, two)") ==
        "opset 9 cannot express this Slice: no input 4");
  CHECK(older(10, "y = Clip(x, half)") == "(x) min = 0.5");
  CHECK(older(5, "y = Cast <to = 10> (x)") == "(x) to = \"FLOAT16\"");
}

TEST_CASE(
    "downgrade: axes from the end, parts, and ops that do not exist yet") {
  CHECK(older(10, "y = Concat <axis = -1> (x, x)") == "(x, x) axis = 2");
  CHECK(older(11, "y = Concat <axis = -1> (x, x)") == "(x, x) axis = -1");
  CHECK(older(10, "y = Unsqueeze(x, two)") == "(x) axes = [0, 4]");
  CHECK(older(10, "y = Concat <axis = -1> (z, z) z = Relu(x)") ==
        "opset 10 cannot express this Concat: an axis of 0 or more");
  CHECK(older(13, "a, y = Split <axis = 2, num_outputs = 2> (x)") ==
        "(x) axis = 2");
  CHECK(older(13, "a, y = Split <axis = 1, num_outputs = 2> (x)") ==
        "opset 13 cannot express this Split: an axis whose size is a known "
        "multiple of 2");
  CHECK(older(10, "y = Gemm(h, h)") ==
        "opset 10 cannot express this Gemm: at least 3 inputs");
  CHECK(older(11, "y = Gemm(h, h)") == "(h, h)");
  CHECK(older(19, "y = Gelu(x)") ==
        "opset 19 cannot express this Gelu: an opset that has the op");
  CHECK(older(13, "y = Reshape <allowzero = 1> (x, two)") ==
        "opset 13 cannot express this Reshape: no attribute "
        "'allowzero', unless at its default");
  CHECK(older(13, "y = Reshape <allowzero = 0> (x, two)") == "(x, two)");
  CHECK(older(10, "y = Resize(x, \"\", s)") ==
        "opset 10 cannot express this Resize: opset 11 or newer");
  CHECK(older(1, "y = my.Op <a = 1> (x)") == "(x) a = 1");
}

TEST_CASE("the encoding of an attribute is dropped if its value changes") {
  World w(21, "y = Concat <axis = -1> (x, x)");
  const ir::Graph& g = w.model->graph;
  const std::byte encoded[] = {std::byte{1}};
  ir::Attribute axis = g.node(ir::NodeId(0u)).attributes[0];
  axis.proto = encoded;
  const std::vector<ir::ValueId> inputs = {g.input(ir::NodeId(0u), 0)};
  for (int opset : {10, 11}) {
    const auto form =
        to_opset(g, "", "Concat", inputs, {axis}, opset, *w.facts);
    REQUIRE(form.ok());
    CHECK(form->attributes[0].proto.empty() == (opset == 10));
  }
}

TEST_CASE("an attribute that a caller gives is not at its default") {
  World w(21, "y = Reshape <allowzero = 0> (x, last)");
  const ir::Graph& g = w.model->graph;
  ir::Attribute zero = g.node(ir::NodeId(0u)).attributes[0];
  const std::vector<ir::ValueId> inputs = {g.input(ir::NodeId(0u), 0),
                                           g.input(ir::NodeId(0u), 1)};
  CHECK(to_opset(g, "", "Reshape", inputs, {zero}, 13, *w.facts).ok());
  zero.ref = "zero";
  CHECK(!to_opset(g, "", "Reshape", inputs, {zero}, 13, *w.facts).ok());
}

// A node that was written at an old opset reads as the original.
TEST_CASE("downgrade and upgrade round-trip") {
  for (const auto& [opset, node] :
       {std::pair<int, std::string>{12, "y = Squeeze(x, two)"},
        {9, "y = Slice(x, zeros, ones, ones)"},
        {10, "y = Clip(x, half, half)"},
        {17, "y = ReduceMax <keepdims = 0> (x, last)"},
        {13, "a, y = Split <axis = 2, num_outputs = 2> (x)"}}) {
    World w(21, node);
    ir::Graph& g = w.model->graph;
    const ir::NodeId id(0u);
    std::vector<ir::ValueId> inputs;
    for (const ir::Operand& use : g.inputs(id)) inputs.push_back(use.value);
    const auto list = g.node(id).attributes;
    const auto old = to_opset(g, "", g.op(id).type, inputs,
                              {list.begin(), list.end()}, opset, *w.facts);
    REQUIRE(old.ok());
    const ir::ValueId out =
        g.add_value(w.model->names.intern("z"), ir::Graph::main_block(),
                    ir::ValueKind::kUndefined);
    std::vector<ir::ValueId> outputs(g.node(id).output_count);
    outputs[0] = out;
    const ir::NodeId made =
        g.add_node(g.node(id).op, ir::Graph::main_block(), {}, old->inputs,
                   outputs, old->attributes);
    Upgrades upgrades(g, opset);
    NewestForm form;
    upgrades.view(made, *w.facts, form);
    REQUIRE(form.readable);
    REQUIRE(form.inputs.size() == inputs.size());
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      CHECK(equal_bits(*g.value(form.inputs[i]).tensor,
                       *g.value(inputs[i]).tensor, nullptr));
    }
    CHECK(form.attributes.size() == list.size());
  }
}

}  // namespace
}  // namespace ruleengine::ops
