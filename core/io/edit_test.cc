// Models saved after edits such as rules make.
#include <doctest/doctest.h>

#include "core/base/onnx.h"
#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;
using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

constexpr BlockId kMain = ir::Graph::main_block();

struct Edited {
  std::unique_ptr<ir::Model> model;

  explicit Edited(const onnx::ModelProto& proto) {
    auto loaded = load_proto(proto);
    REQUIRE_MESSAGE(loaded.ok(), loaded.error().text());
    model = std::move(*loaded);
    model->changed = true;
  }
  ir::Graph& graph() { return model->graph; }
  ValueId value(std::string_view name) {
    for (std::size_t v = 0; v < graph().value_count(); ++v) {
      if (graph().name(ValueId(v)) == name) return ValueId(v);
    }
    return ValueId();
  }
  ValueId new_value(std::string_view name, BlockId block = kMain) {
    return graph().add_value(name.empty() ? Name() : model->names.intern(name),
                             block, ir::ValueKind::kUndefined);
  }
  NodeId new_node(const char* type, std::vector<ValueId> inputs,
                  std::vector<ValueId> outputs, BlockId block = kMain) {
    return graph().add_node(model->ops.intern("", type), block, "", inputs,
                            outputs, {});
  }
  void changed(BlockId block) { graph().mutable_block(block).changed = true; }
  onnx::ModelProto result() {
    auto out = serialize(*model);
    REQUIRE_MESSAGE(out.ok(), out.error().text());
    onnx::ModelProto proto;
    REQUIRE(proto.ParseFromString(*out));
    CHECK(error_of(proto) == "");
    return proto;
  }
};

TEST_CASE("a node made later is written before its reader") {
  Edited e(small_model());
  const ValueId made = e.new_value("");
  e.new_node("Abs", {e.value("a")}, {made});
  e.graph().set_operand(ir::OperandId(2u), made);  // of Relu
  e.graph().mutable_node(NodeId(1u)).proto = {};
  e.changed(kMain);
  const onnx::ModelProto out = e.result();
  REQUIRE(out.graph().node_size() == 3);
  CHECK(out.graph().node(0).op_type() == "Add");
  CHECK(out.graph().node(1).op_type() == "Abs");
  CHECK(out.graph().node(2).op_type() == "Relu");
  CHECK(out.graph().node(2).input(0) == out.graph().node(1).output(0));
  CHECK(!out.graph().node(1).output(0).empty());
}

TEST_CASE("what a body reads from outside comes before its node") {
  Edited e(rich_model());
  const ValueId made = e.new_value("made");
  e.new_node("Abs", {e.value("x")}, {made});
  // The Mul inside the first branch reads it from here on.
  const NodeId inner = e.graph().block(BlockId(1u)).nodes[0];
  e.graph().set_operand(ir::OperandId(e.graph().node(inner).first_operand),
                        made);
  e.graph().mutable_node(inner).proto = {};
  e.changed(BlockId(1u));
  const onnx::ModelProto out = e.result();
  int abs = -1, branch = -1;
  for (int i = 0; i < out.graph().node_size(); ++i) {
    if (out.graph().node(i).op_type() == "Abs") abs = i;
    if (out.graph().node(i).op_type() == "If") branch = i;
  }
  CHECK(abs < branch);
  const auto& body = out.graph().node(branch).attribute(0).g();
  CHECK(body.node(0).input(0) == "made");
  CHECK(body.node(0).doc_string() == "captures");
  CHECK(out.graph().node(branch).attribute(1).g().node(0).input(0) == "a");
}

TEST_CASE("only names that still exist keep their declared types") {
  onnx::ModelProto proto = rich_model();
  set_type(proto.mutable_graph()->add_value_info(), "nobody", {1});
  Edited e(proto);
  ir::Graph& graph = e.graph();
  graph.remove_node(NodeId(4u));  // the call that makes `e`
  graph.remove_node(NodeId(3u));  // makes `c` and `d`
  const ValueId made = e.new_value("made");
  e.new_node("Abs", {e.value("x")}, {made});
  auto* type = e.model->arena.make<ir::Type>();
  type->elem = ir::DataType::kFloat;
  type->has_shape = true;
  auto dims = e.model->arena.array<ir::Dim>(3);
  dims[0] = ir::Dim(std::int64_t{5});
  dims[1] = e.model->dims.symbol("batch");
  dims[2] = e.model->dims.fresh();
  type->dims = dims;
  graph.mutable_value(made).declared = type;
  e.changed(kMain);
  const onnx::ModelProto out = e.result();
  std::vector<std::string> names;
  for (const auto& info : out.graph().value_info())
    names.push_back(info.name());
  CHECK(names == std::vector<std::string>{"a", "nobody", "made"});
  CHECK(out.graph().value_info(0).doc_string() == "kept");
  const auto& shape = out.graph().value_info(2).type().tensor_type().shape();
  CHECK(shape.dim(0).dim_value() == 5);
  CHECK(shape.dim(1).dim_param() == "batch");
  CHECK(shape.dim(2).value_case() == 0);
}

TEST_CASE("annotations go with their value, and keep their parameters") {
  onnx::ModelProto proto = rich_model();
  // A second annotation with the same scale: it must not be written twice.
  auto* second = proto.mutable_graph()->add_quantization_annotation();
  *second = proto.graph().quantization_annotation(0);
  for (bool removed : {false, true}) {
    Edited e(proto);
    ir::Graph& graph = e.graph();
    std::erase_if(graph.mutable_block(kMain).initializers,
                  [&](ValueId v) { return graph.name(v) == "scale"; });
    if (removed) {
      const ValueId x = e.value("x");
      graph.remove_node(NodeId(0u));
      const ValueId other = e.new_value("other");
      e.new_node("Abs", {x}, {other});
      graph.set_operand(ir::OperandId(graph.node(NodeId(1u)).first_operand),
                        other);
      graph.mutable_node(NodeId(1u)).proto = {};
      for (BlockId b : {BlockId(1u), BlockId(2u)}) {
        const NodeId inner = graph.block(b).nodes[0];
        graph.set_operand(ir::OperandId(graph.node(inner).first_operand),
                          other);
        graph.mutable_node(inner).proto = {};
        e.changed(b);
      }
    }
    e.changed(kMain);
    const onnx::ModelProto out = e.result();
    CHECK(out.graph().quantization_annotation_size() == (removed ? 0 : 2));
    int scales = 0;
    for (const auto& t : out.graph().initializer())
      scales += t.name() == "scale";
    CHECK(scales == (removed ? 0 : 1));
  }
}

TEST_CASE("an output of a subgraph may change its name") {
  Edited e(rich_model());
  const ValueId made = e.new_value("made", BlockId(1u));
  e.new_node("Abs", {e.graph().block(BlockId(1u)).outputs[0]}, {made},
             BlockId(1u));
  e.graph().set_block_output(BlockId(1u), 0, made);
  e.changed(BlockId(1u));
  const onnx::ModelProto out = e.result();
  const auto& body = out.graph().node(2).attribute(0).g();
  CHECK(body.output(0).name() == "made");
  CHECK(body.output(0).type().tensor_type().elem_type() == 1);
}

TEST_CASE("a tensor may serve under another name") {
  Edited e(small_model());
  const ir::Literal* w = e.graph().value(e.value("w")).tensor;
  const ValueId twin = e.graph().add_value(e.model->names.intern("twin"), kMain,
                                           ir::ValueKind::kInitializer);
  e.graph().add_initializer(twin, w);
  e.changed(kMain);
  const onnx::ModelProto out = e.result();
  REQUIRE(out.graph().initializer_size() == 2);
  CHECK(out.graph().initializer(0).name() == "w");
  CHECK(out.graph().initializer(1).name() == "twin");
  CHECK(out.graph().initializer(1).raw_data() ==
        out.graph().initializer(0).raw_data());
}

TEST_CASE("versions, opsets and metadata are brought up to date") {
  Edited e(small_model());
  e.model->ir_version = 11;
  e.model->opset_imports.set_version(0, 20);
  e.model->import_opset("ruleengine", 1);
  const ir::Metadata metadata[] = {{"ruleengine.rule", "pack/rule"}};
  e.graph().mutable_node(NodeId(0u)).metadata = metadata;
  e.graph().mutable_node(NodeId(0u)).proto = {};
  e.changed(kMain);
  const onnx::ModelProto out = e.result();
  CHECK(out.ir_version() == 11);
  CHECK(out.producer_name() == "test");
  REQUIRE(out.opset_import_size() == 2);
  CHECK(out.opset_import(0).version() == 20);
  CHECK(out.opset_import(1).domain() == "ruleengine");
  CHECK(out.graph().node(0).metadata_props(0).value() == "pack/rule");
  CHECK(out.graph().node(1).metadata_props_size() == 0);
}

TEST_CASE("before IR version 4 constants are inputs, after it they are not") {
  for (int version : {3, 10}) {
    onnx::ModelProto proto = small_model();
    proto.set_ir_version(3);
    set_type(proto.mutable_graph()->add_input(), "w", {4});
    set_type(proto.mutable_graph()->add_input(), "u", {4});
    add_tensor(proto.mutable_graph(), "u", {4});
    Edited e(proto);
    e.model->ir_version = version;
    ir::Graph& graph = e.graph();
    std::erase_if(graph.mutable_block(kMain).initializers,
                  [&](ValueId v) { return graph.name(v) == "u"; });
    auto* tensor = e.model->arena.make<ir::Literal>();
    tensor->dtype = ir::DataType::kFloat;
    const std::int64_t sizes[] = {2, 3};
    tensor->dims = sizes;
    tensor->bytes = e.model->arena.array<std::byte>(24);
    const ValueId made = graph.add_value(e.model->names.intern("made"), kMain,
                                         ir::ValueKind::kInitializer);
    graph.add_initializer(made, tensor);
    e.changed(kMain);
    const onnx::ModelProto out = e.result();
    std::vector<std::string> inputs;
    for (const auto& info : out.graph().input()) inputs.push_back(info.name());
    CHECK(inputs == (version == 3 ? std::vector<std::string>{"x", "w", "made"}
                                  : std::vector<std::string>{"x"}));
    CHECK(out.graph().initializer_size() == 2);
    if (version != 3) continue;
    const auto& type = out.graph().input(2).type().tensor_type();
    CHECK(type.elem_type() == onnx::TensorProto::FLOAT);
    REQUIRE(type.shape().dim_size() == 2);
    CHECK(type.shape().dim(0).dim_value() == 2);
    CHECK(type.shape().dim(1).dim_value() == 3);
  }
}

TEST_CASE("a model without source is written whole") {
  ir::Model model;
  model.ir_version = 10;
  model.opset_imports = {{"", 18}};
  ir::Graph& graph = model.graph;
  const auto value = [&](const char* name) {
    return graph.add_value(model.names.intern(name), kMain,
                           ir::ValueKind::kUndefined);
  };
  const ValueId x = value("x"), y = value("y");
  graph.add_block_input(kMain, x);
  const std::int64_t ints[] = {1, -1};
  const float floats[] = {0.5f};
  const std::string_view strings[] = {"a", ""};
  using Kind = ir::AttributeKind;
  const ir::Attribute attributes[] = {
      {.name = "f", .kind = Kind::kFloat, .f = 2},
      {.name = "i", .kind = Kind::kInt, .i = -3},
      {.name = "s", .kind = Kind::kString, .s = "text"},
      {.name = "fs", .kind = Kind::kFloats, .floats = floats},
      {.name = "is", .kind = Kind::kInts, .ints = ints},
      {.name = "ss", .kind = Kind::kStrings, .strings = strings},
  };
  graph.add_node(model.ops.intern("", "Thing"), kMain, "n", {{x}}, {{y}},
                 attributes);
  graph.add_block_output(kMain, y);
  onnx::ModelProto out;
  REQUIRE(out.ParseFromString(*serialize(model)));
  CHECK(error_of(out) == "");
  CHECK(out.ir_version() == 10);
  const onnx::NodeProto& node = out.graph().node(0);
  CHECK(node.attribute(0).f() == 2);
  CHECK(node.attribute(1).i() == -3);
  CHECK(node.attribute(2).s() == "text");
  CHECK(node.attribute(3).floats(0) == 0.5f);
  CHECK(node.attribute(4).ints(1) == -1);
  CHECK(node.attribute(5).strings_size() == 2);
}

TEST_CASE("an edit that made a cycle is not written") {
  Edited e(small_model());
  e.graph().set_operand(ir::OperandId(0u), e.value("y"));
  e.graph().mutable_node(NodeId(0u)).proto = {};
  e.changed(kMain);
  const auto out = serialize(*e.model);
  REQUIRE(!out.ok());
  CHECK(out.error().what.find("cycle") != std::string::npos);
}

}  // namespace
}  // namespace ruleengine::io
