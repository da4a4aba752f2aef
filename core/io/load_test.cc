#include "core/io/load.h"
#include "core/base/onnx.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ops/op_facts.h"
#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;

bool says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (text.find(part) == std::string::npos) {
      MESSAGE(text, " lacks ", part);
      return false;
    }
  }
  return true;
}

using Change = void (*)(onnx::ModelProto&);
onnx::ModelProto small_after(Change change) {
  onnx::ModelProto model = small_model();
  change(model);
  return model;
}
// The error and the warning of loading it.
std::string after(Change change) { return error_of(small_after(change)); }
std::string odd_after(Change change) { return warning_of(small_after(change)); }

void import(onnx::ModelProto& m, const char* domain, int version) {
  auto* opset = m.add_opset_import();
  opset->set_domain(domain);
  opset->set_version(version);
}

TEST_CASE("the graph is what the file says") {
  auto loaded = load_proto(rich_model());
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().text());
  const ir::Model& model = **loaded;
  const ir::Graph& graph = model.graph;
  CHECK(model.ir_version == 10);
  CHECK(model.opset("") == 18);
  CHECK(graph.node_count() == 7);
  CHECK(graph.block_count() == 3);
  const ir::NodeId add(0u), thing(3u), inner(5u);
  CHECK(graph.op(add).text() == "Add");
  CHECK(graph.name(graph.input(add, 0)) == "x");
  CHECK(graph.value(graph.input(add, 1)).kind == ir::ValueKind::kInitializer);
  // `a` is read by Relu and, from inside, by both branches.
  CHECK(graph.value(graph.output(add)).use_count == 3);
  CHECK(graph.value(graph.output(add)).declared->rank() == 2);
  CHECK(graph.op(thing).text() == "custom::Thing:v1");
  CHECK(!graph.input(thing, 1));
  CHECK(!graph.output(thing, 1));
  CHECK(graph.attribute(thing, "ints")->ints[2] == INT64_MIN);
  CHECK(graph.attribute(thing, "strings")->strings[0].size() == 3);
  CHECK(graph.node(thing).metadata[0].key == "pkg");
  CHECK(graph.block(ir::BlockId(1u)).owner == ir::NodeId(2u));
  CHECK(graph.node(inner).block == ir::BlockId(1u));
  CHECK(graph.node(inner).rank > graph.node(add).rank);
  REQUIRE(model.functions.size() == 1);
  CHECK(model.functions[0]->attributes[0] == "alpha");
  CHECK(model.functions[0]->body.node_count() == 1);
  CHECK(!model.changed);
  CHECK(model.external == nullptr);
}

TEST_CASE("an initializer that is an input is a default from IR version 4 on") {
  onnx::ModelProto proto = small_model();
  set_type(proto.mutable_graph()->add_input(), "w", {4});
  for (int version : {3, 4}) {
    proto.set_ir_version(version);
    auto model = load_proto(proto);
    REQUIRE(model.ok());
    const ir::Graph& graph = (*model)->graph;
    const ir::Value& w = graph.value(graph.input(ir::NodeId(0u), 1));
    CHECK(w.tensor != nullptr);
    CHECK((w.kind == ir::ValueKind::kInput) == (version == 4));
    CHECK(graph.block(ir::Graph::main_block()).inputs.size() == 2);
  }
}

TEST_CASE("the header is checked") {
  CHECK(says(after([](auto& m) { m.clear_graph(); }), {"no graph"}));
  CHECK(says(after([](auto& m) { m.clear_ir_version(); }), {"ir_version"}));
  CHECK(says(after([](auto& m) { m.set_ir_version(1 << 30); }), {"14"}));
  CHECK(says(after([](auto& m) { m.clear_opset_import(); }),
             {"imports no opset"}));
  CHECK(says(after([](auto& m) { m.mutable_opset_import(0)->set_version(0); }),
             {"no valid version"}));
  CHECK(says(after([](auto& m) {
               m.mutable_opset_import(0)->set_version(ops::newest_opset("") +
                                                      1);
             }),
             {"newer than this program knows"}));
  CHECK(after([](auto& m) {
          m.mutable_opset_import(0)->set_version(ops::newest_opset(""));
        }) == "");
  // Of two imports the last one is used.
  CHECK(says(after([](auto& m) { import(m, "ai.onnx", 0); }),
             {"no valid version"}));
  CHECK(says(after([](auto& m) {
               m.mutable_graph()->mutable_node(0)->set_domain("nowhere");
             }),
             {"not imported", "nowhere", "node 'n_a'"}));
}

TEST_CASE("what ONNX Runtime reads all the same is read as there") {
  CHECK(says(odd_after([](auto& m) { m.set_ir_version(0); }),
             {"ir_version", "0"}));
  CHECK(says(odd_after([](auto& m) { m.set_ir_version(-1); }), {"ir_version"}));
  onnx::ModelProto proto = small_model();
  const auto own = proto.opset_import(0).version();
  import(proto, "ai.onnx", 17);
  CHECK(says(warning_of(proto), {"imported twice"}));
  auto model = load_proto(proto);
  CHECK((*model)->opset("") == 17);
  CHECK((*model)->opset_imports.size() == 1);
  // The written model states what was read.
  touch_all(**model);
  onnx::ModelProto written;
  REQUIRE(written.ParseFromString(*serialize(**model)));
  CHECK(written.opset_import_size() == 2);
  CHECK(written.opset_import(0).version() == own);
  (*model)->opset_imports.set_version(0, 18);
  REQUIRE(written.ParseFromString(*serialize(**model)));
  CHECK(written.opset_import_size() == 1);
  CHECK(written.opset_import(0).version() == 18);

  CHECK(says(odd_after([](auto& m) { import(m, "nobody", -1); }),
             {"no valid version", "nobody"}));
  CHECK(says(after([](auto& m) {
               import(m, "own", 0);
               m.mutable_graph()->mutable_node(0)->set_domain("own");
             }),
             {"no valid version", "own"}));
  CHECK(says(odd_after([](auto& m) {
               set_type(m.mutable_graph()->add_output(), "y", {2, 4});
             }),
             {"two outputs have the same name"}));
}

TEST_CASE("domains that ONNX Runtime knows need no import") {
  onnx::ModelProto proto = small_model();
  proto.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  CHECK(says(warning_of(proto), {"not imported", "com.microsoft"}));
  auto model = load_proto(proto);
  CHECK((*model)->opset("com.microsoft") == 1);
  touch_all(**model);
  onnx::ModelProto written;
  REQUIRE(written.ParseFromString(*serialize(**model)));
  CHECK(written.opset_import_size() == 1);
  (*model)->import_opset("com.microsoft", 1);
  REQUIRE(written.ParseFromString(*serialize(**model)));
  CHECK(written.opset_import_size() == 2);
}

TEST_CASE("names are defined once, and before anybody asks") {
  CHECK(says(
      after([](auto& m) { add_node(m.mutable_graph(), "Relu", {"x"}, {"a"}); }),
      {"defined twice", "'a'"}));
  CHECK(says(after([](auto& m) {
               set_type(m.mutable_graph()->add_input(), "x", {2, 4});
             }),
             {"defined twice", "'x'"}));
  CHECK(
      says(odd_after([](auto& m) { add_tensor(m.mutable_graph(), "w", {1}); }),
           {"defined twice", "'w'"}));
  CHECK(says(
      after([](auto& m) { add_node(m.mutable_graph(), "Relu", {"x"}, {"w"}); }),
      {"defined twice", "'w'"}));
  CHECK(says(after([](auto& m) {
               m.mutable_graph()->mutable_node(1)->set_input(0, "none");
             }),
             {"nothing defines", "'none'", "node 'n_y'"}));
  CHECK(says(after([](auto& m) {
               m.mutable_graph()->mutable_output(0)->set_name("none");
             }),
             {"nothing produces", "'none'"}));
  CHECK(says(odd_after([](auto& m) { add_tensor(m.mutable_graph(), "", {1}); }),
             {"no name"}));
}

TEST_CASE("nodes are checked as far as the graph needs") {
  CHECK(says(after([](auto& m) {
               m.mutable_graph()->mutable_node(0)->clear_op_type();
             }),
             {"no op_type", "n_a"}));
  CHECK(says(after([](auto& m) {
               m.mutable_graph()->add_node()->set_op_type("Nothing");
             }),
             {"neither inputs nor outputs"}));
  CHECK(after([](auto& m) {  // unknown ops are accepted
          m.mutable_graph()->mutable_node(0)->set_op_type("Unheard");
        }) == "");
}

TEST_CASE("nodes may come in any order that has none in a circle") {
  onnx::ModelProto proto = small_model();
  proto.mutable_graph()->mutable_node()->SwapElements(0, 1);
  auto model = load_proto(proto);
  REQUIRE(model.ok());
  const ir::Graph& graph = (*model)->graph;
  CHECK(graph.op(ir::NodeId(0u)).text() == "Relu");
  CHECK(graph.node(ir::NodeId(1u)).rank < graph.node(ir::NodeId(0u)).rank);
  touch_all(**model);
  auto sorted = load_bytes(*serialize(**model));
  CHECK((*sorted)->graph.op(ir::NodeId(0u)).text() == "Add");

  CHECK(says(after([](auto& m) {
               m.mutable_graph()->mutable_node(0)->set_input(0, "y");
             }),
             {"cycle", "n_a", "n_y", "2 nodes"}));
  CHECK(says(after([](auto& m) {
               m.mutable_graph()->mutable_node(0)->set_input(0, "a");
             }),
             {"cycle", "1 node:"}));
}

TEST_CASE("a cycle through a subgraph is one") {
  onnx::ModelProto proto = rich_model();
  // Add reads what the If makes, whose branches read what Add makes.
  proto.mutable_graph()->mutable_node(0)->set_input(0, "branch");
  CHECK(says(error_of(proto), {"cycle", "n_branch"}));
}

TEST_CASE("a million nodes in a circle are found without recursion") {
  onnx::ModelProto proto = small_model();
  onnx::GraphProto* graph = proto.mutable_graph();
  const int count = 200000;
  for (int i = 0; i < count; ++i) {
    onnx::NodeProto* node = graph->add_node();
    node->set_op_type("Relu");
    node->add_input("c" + std::to_string((i + 1) % count));
    node->add_output("c" + std::to_string(i));
  }
  CHECK(says(error_of(proto), {"cycle", "200000 nodes"}));
}

onnx::ModelProto nested(int depth) {
  onnx::ModelProto proto = small_model();
  std::string inner;
  for (int i = 0; i < depth; ++i) {
    onnx::GraphProto body;
    onnx::NodeProto* node = body.add_node();
    node->set_op_type("Thing");
    node->add_input("x");
    node->add_output("o");
    body.add_output()->set_name("o");
    std::string attribute;
    if (!inner.empty()) {
      attribute = "\x0a\x01g\xa0\x01\x05\x32";
      for (std::size_t n = inner.size();; n >>= 7) {
        attribute += static_cast<char>(n > 127 ? (n & 127) | 128 : n);
        if (n <= 127) break;
      }
      onnx::AttributeProto* a = node->add_attribute();
      a->ParsePartialFromString("\x0a\x01g\xa0\x01\x05");
      *a->GetReflection()->MutableUnknownFields(a)->AddLengthDelimited(6) =
          inner;
    }
    inner = body.SerializeAsString();
  }
  onnx::AttributeProto* a =
      proto.mutable_graph()->mutable_node(0)->add_attribute();
  a->set_name("g");
  a->set_type(onnx::AttributeProto::GRAPH);
  *a->GetReflection()->MutableUnknownFields(a)->AddLengthDelimited(6) = inner;
  return proto;
}

TEST_CASE("nesting is bounded") {
  CHECK(error_of(nested(100)) == "");
  CHECK(says(error_of(nested(101)), {"nested too deep", "100"}));
  CHECK(says(error_of(nested(5000)), {"nested too deep"}));
  auto model = load_proto(nested(100));
  touch_all(**model);
  auto again = load_bytes(*serialize(**model));  // too deep for protobuf itself
  REQUIRE(again.ok());
  CHECK((*again)->graph.node_count() == (*model)->graph.node_count());
}

TEST_CASE("types are nested to a bound as well") {
  for (int depth : {60, 1000, 100000}) {
    std::string type = "\x0a\x00";
    type.assign("\x0a\x02\x08\x01", 4);
    for (int i = 0; i < depth; ++i) {
      // TypeProto{sequence_type{elem_type: type}}
      const auto wrap = [](char tag, const std::string& body) {
        std::string out(1, tag);
        std::size_t n = body.size();
        for (; n > 127; n >>= 7) out += static_cast<char>((n & 127) | 128);
        return out + static_cast<char>(n) + body;
      };
      if (type.size() > 60000) break;
      type = wrap('\x22', wrap('\x0a', type));
    }
    onnx::ModelProto proto = small_model();
    onnx::ValueInfoProto* info = proto.mutable_graph()->add_input();
    info->set_name("s");
    *info->GetReflection()->MutableUnknownFields(info)->AddLengthDelimited(2) =
        type;
    CHECK((error_of(proto) == "") == (depth == 60));
  }
}

TEST_CASE("negative sizes in declared types are unknown sizes") {
  onnx::ModelProto proto = small_model();
  proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(-1);
  auto model = load_proto(proto);
  REQUIRE(model.ok());
  const ir::Graph& graph = (*model)->graph;
  const ir::Dim dim =
      graph.value(graph.input(ir::NodeId(0u), 0)).declared->dims[0];
  CHECK((*model)->dims.is_fresh(dim));
}

TEST_CASE("a path that is no model file") {
  const TemporaryFolder folder;
  const auto what = [&](const std::string& path) {
    auto model = load(path);
    return model ? std::string() : model.error().text();
  };
  CHECK(says(what(folder / "none.onnx"), {"No such file", "none.onnx"}));
  CHECK(says(what(folder.path()), {"not a regular file", "a folder"}));
  CHECK(says(what("/dev/zero"), {"not a regular file"}));
  write_file(folder / "empty.onnx", "");
  CHECK(says(what(folder / "empty.onnx"), {"empty"}));
  REQUIRE(::mkfifo((folder / "fifo.onnx").c_str(), 0600) == 0);
  CHECK(says(what(folder / "fifo.onnx"), {"not a regular file"}));
}

TEST_CASE("a file cut short while it is mapped is an error, not a signal") {
  guard_mapping_faults();
  for (const bool many_small : {false, true}) {
    const TemporaryFolder folder;
    onnx::ModelProto proto = small_model();
    for (int i = 0; i < (many_small ? 1000 : 1); ++i) {
      add_tensor(proto.mutable_graph(), "t" + std::to_string(i),
                 {many_small ? 4 : 100000});
    }
    write_file(folder / "m.onnx", proto.SerializeAsString());
    auto model = load(folder / "m.onnx");
    REQUIRE(model.ok());
    CHECK(check_intact(**model).ok());
    REQUIRE(::truncate((folder / "m.onnx").c_str(), 100) == 0);
    touch_all(**model);
    const Status s = save(**model, folder / "out.onnx");
    REQUIRE(!s.ok());
    CHECK(s.error().kind == ErrorKind::kModel);
    CHECK(says(s.error().text(), {"cut short"}));
    CHECK(folder.names() == std::vector<std::string>{"m.onnx"});
    CHECK(!check_intact(**model).ok());
  }
}

}  // namespace
}  // namespace ruleengine::io
