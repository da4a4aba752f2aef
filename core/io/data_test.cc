#include "core/base/onnx.h"
#include "core/io/write/data_plan.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/wire.h"
#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;
using Names = std::vector<std::string>;

// An initializer of type float[floats] whose data is in `file`.
onnx::TensorProto external(const std::string& name, const std::string& file,
                           std::int64_t offset, std::int64_t floats) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(floats);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>{"location", file},
        {"offset", std::to_string(offset)}}) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return tensor;
}

// The raw bytes of an initializer of a model on disk.
std::string data_of(const std::string& path, const std::string& name) {
  auto model = load(path);
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  const ir::Graph& graph = (*model)->graph;
  for (std::size_t v = 0; v < graph.value_count(); ++v) {
    const ir::ValueId id(v);
    if (graph.name(id) != name || graph.value(id).tensor == nullptr) continue;
    std::vector<std::byte> scratch;
    auto bytes = ir::raw_bytes(*graph.value(id).tensor,
                               (*model)->external.get(), scratch);
    REQUIRE_MESSAGE(bytes.ok(), bytes.error().text());
    return std::string(as_text(*bytes));
  }
  FAIL("no initializer ", name);
  return {};
}

struct Model {
  TemporaryFolder folder;
  std::unique_ptr<ir::Model> model;
  std::string bytes;
  std::string one, two;

  Model() {
    fs::create_directories(folder / "m");
    fs::create_directories(folder / "out");
    for (int i = 0; i < 300000; ++i) one += static_cast<char>(i * 7 % 251);
    two = std::string(5000, '2');
    write_file(folder / "m/one.bin", one);
    write_file(folder / "m/two.bin", two);
    onnx::ModelProto proto = small_model();
    onnx::GraphProto* graph = proto.mutable_graph();
    *graph->add_initializer() = external("a0", "one.bin", 100, 10);
    *graph->add_initializer() = external("a1", "one.bin", 140, 10);
    *graph->add_initializer() = external("far", "one.bin", 290000, 100);
    *graph->add_initializer() = external("b", "two.bin", 8, 1000);
    *graph->add_initializer() = external("overlap", "one.bin", 120, 10);
    onnx::AttributeProto* a = graph->mutable_node(0)->add_attribute();
    a->set_name("t");
    a->set_type(onnx::AttributeProto::TENSOR);
    *a->mutable_t() = external("", "two.bin", 4, 2);
    bytes = proto.SerializeAsString();
    write_file(folder / "m/in.onnx", bytes);
    reload();
  }
  void reload() {
    auto loaded = load(folder / "m/in.onnx");
    REQUIRE_MESSAGE(loaded.ok(), loaded.error().text());
    model = std::move(*loaded);
  }
  void change() {
    model->changed = true;
    model->graph.mutable_block(ir::Graph::main_block()).changed = true;
  }
  void check_data(const std::string& path) {
    CHECK(data_of(path, "a0") == one.substr(100, 40));
    CHECK(data_of(path, "a1") == one.substr(140, 40));
    CHECK(data_of(path, "overlap") == one.substr(120, 40));
    CHECK(data_of(path, "far") == one.substr(290000, 400));
    CHECK(data_of(path, "b") == two.substr(8, 4000));
  }
};

TEST_CASE_FIXTURE(Model, "unchanged, in its folder: the same bytes, no copy") {
  REQUIRE(save(*model, folder / "m/out.onnx").ok());
  CHECK(read_file(folder / "m/out.onnx") == bytes);
  CHECK(!fs::exists(folder / "m/out.onnx.data"));
  check_data(folder / "m/out.onnx");
}

TEST_CASE_FIXTURE(Model, "unchanged, elsewhere: the same bytes and names") {
  for (int run = 0; run < 2; ++run) {  // again over its own result
    REQUIRE(save(*model, folder / "out/out.onnx").ok());
    CHECK(read_file(folder / "out/out.onnx") == bytes);
    CHECK(read_file(folder / "out/one.bin") == one);
    check_data(folder / "out/out.onnx");
  }
}

TEST_CASE_FIXTURE(Model, "unchanged, elsewhere, but the names are taken") {
  write_file(folder / "out/one.bin", "somebody else's");
  REQUIRE(save(*model, folder / "out/out.onnx").ok());
  CHECK(read_file(folder / "out/one.bin") == "somebody else's");
  CHECK(!fs::exists(folder / "out/two.bin"));
  check_data(folder / "out/out.onnx");
  CHECK(fs::exists(folder / "out/out.onnx.data"));
}

TEST_CASE_FIXTURE(Model, "changed: its own copy of what is used") {
  change();
  for (const char* path : {"m/out.onnx", "out/out.onnx"}) {
    REQUIRE(save(*model, folder / path).ok());
    check_data(folder / path);
    const std::string text = read_file(folder / path);
    CHECK(text.find("one.bin") == std::string::npos);
    CHECK(text.find("out.onnx.data") != std::string::npos);
    // [0, 180) of one.bin, its far end from a page on, 4008 bytes of two.bin.
    CHECK(fs::file_size(folder / (std::string(path) + ".data")) < 20000);
  }
  // The copy stands alone.
  fs::create_directory(folder / "alone");
  for (const char* name : {"out.onnx", "out.onnx.data"}) {
    fs::rename(folder / (std::string("m/") + name),
               folder / (std::string("alone/") + name));
  }
  check_data(folder / "alone/out.onnx");
}

TEST_CASE_FIXTURE(Model, "an initializer that is gone leaves no data") {
  auto& block = model->graph.mutable_block(ir::Graph::main_block());
  std::erase_if(block.initializers, [&](ir::ValueId v) {
    return model->graph.name(v) == "far" || model->graph.name(v) == "b";
  });
  change();
  REQUIRE(save(*model, folder / "m/out.onnx").ok());
  CHECK(fs::file_size(folder / "m/out.onnx.data") < 4096 + 200);
  auto again = load(folder / "m/out.onnx");
  CHECK((*again)->graph.block(ir::Graph::main_block()).initializers.size() ==
        4);
}

const ir::Literal* tensor_of(const ir::Model& model, std::string_view name) {
  const ir::Graph& graph = model.graph;
  for (ir::ValueId v : graph.block(ir::Graph::main_block()).initializers) {
    if (graph.name(v) == name) return graph.value(v).tensor;
  }
  return nullptr;
}

TEST_CASE_FIXTURE(Model, "large new tensors go to the data file too") {
  add_joined(*model, tensor_of(*model, "b"));
  change();
  REQUIRE(save(*model, folder / "m/out.onnx").ok());
  check_data(folder / "m/out.onnx");
  const std::string b = two.substr(8, 4000);
  CHECK(data_of(folder / "m/out.onnx", "joined") == b + b);
  CHECK(read_file(folder / "m/out.onnx").size() < bytes.size() + 500);
}

TEST_CASE_FIXTURE(Model, "shared data: the original's files, and new ones") {
  SaveOptions share;
  share.share_data = true;
  CHECK(save(*model, folder / "out/out.onnx", share).error().kind ==
        ErrorKind::kUsage);
  change();
  REQUIRE(save(*model, folder / "m/out.onnx", share).ok());
  CHECK(read_file(folder / "m/out.onnx") == bytes);
  CHECK(!fs::exists(folder / "m/out.onnx.data"));
  add_joined(*model, tensor_of(*model, "b"));
  REQUIRE(save(*model, folder / "m/out.onnx", share).ok());
  CHECK(fs::file_size(folder / "m/out.onnx.data") == 8000);
  check_data(folder / "m/out.onnx");
  CHECK(data_of(folder / "m/out.onnx", "joined").size() == 8000);
}

TEST_CASE_FIXTURE(Model, "the data of the model is never replaced") {
  onnx::ModelProto proto;
  REQUIRE(proto.ParseFromString(bytes));
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    for (auto& entry : *tensor.mutable_external_data()) {
      if (entry.value() == "one.bin") entry.set_value("out.onnx.data");
    }
  }
  fs::rename(folder / "m/one.bin", folder / "m/out.onnx.data");
  write_file(folder / "m/in.onnx", proto.SerializeAsString());
  reload();
  change();
  for (const char* path : {"m/two.bin", "m/out.onnx", "m/out.onnx.data"}) {
    CHECK(save(*model, folder / path).error().kind == ErrorKind::kUsage);
  }
  CHECK(read_file(folder / "m/out.onnx.data") == one);
  CHECK(read_file(folder / "m/two.bin") == two);
}

TEST_CASE_FIXTURE(Model, "when the model cannot be written its data goes too") {
  change();
  REQUIRE(save(*model, folder / "out/out.onnx").ok());
  const std::string old = read_file(folder / "out/out.onnx.data");
  fs::remove(folder / "out/out.onnx");
  fs::create_directory(folder / "out/out.onnx");
  CHECK(!save(*model, folder / "out/out.onnx").ok());
  CHECK(read_file(folder / "out/out.onnx.data") == old);
  CHECK(folder.names() == Names{"m", "out"});
}

TEST_CASE_FIXTURE(Model, "data cut short since load is an error") {
  change();
  REQUIRE(::truncate((folder / "m/one.bin").c_str(), 1000) == 0);
  const Status s = save(*model, folder / "m/out.onnx");
  REQUIRE(!s.ok());
  CHECK(s.error().kind == ErrorKind::kModel);
  CHECK(!fs::exists(folder / "m/out.onnx"));
  CHECK(!fs::exists(folder / "m/out.onnx.data"));
}

TEST_CASE_FIXTURE(Model, "external data deep inside moves along") {
  onnx::ModelProto proto;
  REQUIRE(proto.ParseFromString(bytes));
  onnx::GraphProto* graph = proto.mutable_graph();
  graph->clear_initializer();
  graph->mutable_node(0)->clear_attribute();
  add_tensor(graph, "w", {4});
  onnx::NodeProto* node = add_node(graph, "If", {"a"}, {"branch"});
  onnx::AttributeProto* body = node->add_attribute();
  body->set_name("then_branch");
  body->set_type(onnx::AttributeProto::GRAPH);
  *body->mutable_g()->add_initializer() = external("deep", "one.bin", 8, 4);
  body->mutable_g()->add_output()->set_name("deep");
  onnx::SparseTensorProto* sparse = graph->add_sparse_initializer();
  *sparse->mutable_values() = external("sparse", "two.bin", 0, 2);
  sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(2);
  for (int i : {0, 1}) sparse->mutable_indices()->add_int64_data(i);
  sparse->add_dims(4);
  *proto.add_training_info()->mutable_algorithm()->add_initializer() =
      external("trained", "one.bin", 200, 4);
  onnx::FunctionProto* f = proto.add_functions();
  f->set_name("F");
  f->set_domain("f");
  f->add_opset_import()->set_version(18);
  onnx::NodeProto* constant = f->add_node();
  constant->set_op_type("Constant");
  constant->add_output("c");
  onnx::AttributeProto* value = constant->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  *value->mutable_t() = external("", "two.bin", 100, 2);
  write_file(folder / "m/in.onnx", proto.SerializeAsString());
  reload();
  // Nothing else has changed: the whole model is relocated from its encoding.
  model->changed = true;
  REQUIRE(save(*model, folder / "out/out.onnx").ok());
  const std::string text = read_file(folder / "out/out.onnx");
  CHECK(text.find(".bin") == std::string::npos);
  CHECK(data_of(folder / "out/out.onnx", "deep") == one.substr(8, 16));
  auto again = load(folder / "out/out.onnx");
  REQUIRE_MESSAGE(again.ok(), again.error().text());
  // With the old names and offsets restored it would be the same model.
  onnx::ModelProto out;
  REQUIRE(out.ParseFromString(text));
  const auto& tensor = out.training_info(0).algorithm().initializer(0);
  CHECK(tensor.external_data_size() == 3);
  CHECK(out.functions(0).node(0).attribute(0).t().data_location() == 1);
}

TEST_CASE("ranges become extents") {
  DataPlan plan("d", DataPlan::Originals::kCopy, false);
  const auto place = [&](std::int64_t offset, std::uint64_t size) {
    return plan.original({"f", offset, -1}, size).offset;
  };
  const auto report = [&] {
    place(200000, 10);
    place(5000, 4001);
    place(5010, 10);  // inside the one before
    place(200500, 10);
    place(200000, 10);
    place(77, 0);
  };
  report();
  plan.finish();
  REQUIRE(plan.extents().size() == 2);
  CHECK(plan.extents()[0].begin == 4096);
  CHECK(plan.extents()[0].end == 9001);
  CHECK(plan.extents()[1].begin == 196608);
  CHECK(plan.extents()[1].at % 4096 == 0);
  CHECK(plan.extents()[1].end == 200510);
  CHECK(place(5000, 4001) == 5000 - 4096);
  CHECK(place(5010, 10) == 5010 - 4096);
  CHECK(place(200000, 10) == 8192 + 200000 - 196608);
}

}  // namespace
}  // namespace ruleengine::io
