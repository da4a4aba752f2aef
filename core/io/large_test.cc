#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "core/base/onnx.h"
#include "core/io/descriptor.h"
#include "core/wire/wire.h"
#include "tests/support/io.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

namespace ruleengine::io {
namespace {

using namespace testing;

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
std::string head(int field, std::uint64_t size) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(size);
}

// Writes a model file with two initializers of `size` bytes each, which are
// holes.
void write_sparse_model(const std::string& path, std::uint64_t size) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto graph = model.graph();
  model.clear_graph();
  const std::string before = model.SerializeAsString();
  std::string inside[2], bodies[2];
  std::uint64_t total = graph.SerializeAsString().size();
  for (int i = 0; i < 2; ++i) {
    onnx::TensorProto tensor;
    tensor.set_name("big" + std::to_string(i));
    tensor.set_data_type(onnx::TensorProto::UINT8);
    tensor.add_dims(static_cast<std::int64_t>(size));
    bodies[i] = tensor.SerializeAsString() + head(9, size);
    inside[i] = head(5, bodies[i].size() + size) + bodies[i];
    total += inside[i].size() + size;
  }
  const Descriptor file(
      ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600));
  std::uint64_t at = 0;
  const auto put = [&](const std::string& bytes) {
    REQUIRE(::pwrite(file.get(), bytes.data(), bytes.size(),
                     static_cast<off_t>(at)) ==
            static_cast<ssize_t>(bytes.size()));
    at += bytes.size();
  };
  put(before + head(7, total));
  for (int i = 0; i < 2; ++i) {
    put(inside[i]);
    at += size;
  }
  put(graph.SerializeAsString());
}

std::uint64_t status_kib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::uint64_t kib;
    if (word == key && status >> kib) return kib;
  }
  return 0;
}
std::uint64_t anonymous_kib() { return status_kib("RssAnon:"); }

std::uint64_t disk_bytes(const std::string& path) {
  struct stat info;
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

TEST_CASE("files beyond 2 and 4 GiB load, change and save without memory") {
  const TemporaryFolder folder;
  for (std::uint64_t size :
       {std::uint64_t{1200} << 20, std::uint64_t{2500} << 20}) {
    write_sparse_model(folder / "in.onnx", size);
    const std::uint64_t before = anonymous_kib();
    auto model = load(folder / "in.onnx");
    REQUIRE_MESSAGE(model.ok(), model.error().text());
    touch_all(**model);
    REQUIRE(save(**model, folder / "out.onnx").ok());
    if (!kSanitized) CHECK(anonymous_kib() < before + 4096);
    auto again = load(folder / "out.onnx");
    REQUIRE_MESSAGE(again.ok(), again.error().text());
    const ir::Graph& graph = (*again)->graph;
    const auto& block = graph.block(ir::Graph::main_block());
    CHECK(block.initializers.size() == 3);
    CHECK(graph.value(block.initializers[1]).tensor->bytes.size() == size);
    CHECK(fs::file_size(folder / "out.onnx") > 2 * size);
    CHECK(disk_bytes(folder / "out.onnx") < 1 << 20);
    (*again)->changed = false;
    REQUIRE(save(**again, folder / "copy.onnx").ok());
    CHECK(fs::file_size(folder / "copy.onnx") ==
          fs::file_size(folder / "out.onnx"));
  }
}

TEST_CASE("a result that grows beyond 2 GiB puts large tensors outside") {
  const TemporaryFolder folder;
  const std::uint64_t size = std::uint64_t{900} << 20;
  write_sparse_model(folder / "in.onnx", size);
  auto loaded = load(folder / "in.onnx");
  REQUIRE(loaded.ok());
  ir::Model& model = **loaded;
  const auto main = ir::Graph::main_block();
  const ir::ValueId big = model.graph.block(main).initializers[0];
  const ir::ValueId twin = model.graph.add_value(
      model.names.intern("twin"), main, ir::ValueKind::kInitializer);
  model.graph.add_initializer(twin, model.graph.value(big).tensor);
  model.graph.mutable_block(main).changed = true;
  model.changed = true;
  REQUIRE(save(model, folder / "out.onnx").ok());
  CHECK(fs::file_size(folder / "out.onnx") < 1000);
  CHECK(fs::file_size(folder / "out.onnx.data") >= 2 * size);
  CHECK(load(folder / "out.onnx").ok());
}

TEST_CASE("what a joined constant read does not stay in memory") {
  const TemporaryFolder folder;
  write_sparse_model(folder / "in.onnx", std::uint64_t{64} << 20);
  auto loaded = load(folder / "in.onnx");
  REQUIRE(loaded.ok());
  ir::Model& model = **loaded;
  const auto main = ir::Graph::main_block();
  const ir::Literal& big =
      *model.graph.value(model.graph.block(main).initializers[0]).tensor;
  add_joined(model, &big);
  model.graph.mutable_block(main).changed = true;
  model.changed = true;
  const std::uint64_t before = status_kib("RssFile:");
  REQUIRE(save(model, folder / "out.onnx").ok());
  CHECK(fs::file_size(folder / "out.onnx") > std::uint64_t{256} << 20);
  CHECK(status_kib("RssFile:") < before + 16 * 1024);
}

// With each header that is read, some kernels bring in 2 MiB.
TEST_CASE("weights that nobody looks at do not stay in memory") {
  const TemporaryFolder folder;
  constexpr int kTensors = 48;
  {
    onnx::ModelProto model = small_model();
    for (int i = 0; i < kTensors; ++i) {
      onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
      tensor->set_name("w" + std::to_string(i));
      tensor->set_data_type(onnx::TensorProto::UINT8);
      tensor->add_dims(2 << 20);
      tensor->mutable_raw_data()->assign(2 << 20, 'w');
    }
    write_file(folder / "in.onnx", model.SerializeAsString());
  }
  const std::uint64_t before = status_kib("RssFile:");
  auto loaded = load(folder / "in.onnx");
  REQUIRE(loaded.ok());
  CHECK(status_kib("RssFile:") < before + 40 * 1024);
  ir::Model& model = **loaded;
  model.graph.mutable_block(ir::Graph::main_block()).changed = true;
  model.changed = true;
  REQUIRE(save(model, folder / "out.onnx").ok());
  CHECK(status_kib("RssFile:") < before + 40 * 1024);
}

std::string chain(int nodes) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto* graph = model.mutable_graph();
  graph->mutable_node()->DeleteSubrange(1, 1);
  std::string last = "a";
  for (int i = 0; i < nodes; ++i) {
    onnx::NodeProto* node = graph->add_node();
    node->set_op_type(i % 2 == 0 ? "Mul" : "Add");
    node->set_name("/model/layers." + std::to_string(i));
    node->add_input(last);
    node->add_input("w");
    last = i + 1 == nodes ? "y" : "/model/layers." + std::to_string(i) + "_out";
    node->add_output(last);
  }
  return model.SerializeAsString();
}

double seconds_to_load(const std::string& bytes) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    std::string copy = bytes;
    const auto start = std::chrono::steady_clock::now();
    auto model = load_bytes(std::move(copy));
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    REQUIRE(model.ok());
    best = std::min(best, took.count());
  }
  return best;
}

TEST_CASE("load is linear in the nodes") {
  // A generous bound, since machines are shared: quadratic time is 400 times.
  const double small = seconds_to_load(chain(5000));
  const double large = seconds_to_load(chain(100000));
  CHECK(large < small * 20 * 8);
}

TEST_CASE("many nested graphs are linear as well") {
  const auto model = [](int count) {
    onnx::ModelProto proto = small_model();
    onnx::GraphProto* graph = proto.mutable_graph();
    for (int i = 0; i < count; ++i) {
      const std::string name = "if" + std::to_string(i);
      onnx::NodeProto* node = add_node(graph, "If", {"a"}, {name.c_str()});
      onnx::AttributeProto* a = node->add_attribute();
      a->set_name("then_branch");
      a->set_type(onnx::AttributeProto::GRAPH);
      add_node(a->mutable_g(), "Relu", {"a"}, {"inner"});
      a->mutable_g()->add_output()->set_name("inner");
    }
    return proto.SerializeAsString();
  };
  const double small = seconds_to_load(model(2000));
  const double large = seconds_to_load(model(40000));
  CHECK(large < small * 20 * 8);
  auto loaded = load_bytes(model(20000));
  touch_all(**loaded);
  CHECK(serialize(**loaded).ok());
}

}  // namespace
}  // namespace ruleengine::io
