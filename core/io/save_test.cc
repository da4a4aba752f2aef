#include "core/io/save.h"
#include "core/base/onnx.h"
#include "core/wire/wire.h"

#include <doctest/doctest.h>
#include <onnx/checker.h>

#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;

std::string saved_after_touch(const std::string& bytes) {
  auto model = load_bytes(bytes);
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  touch_all(**model);
  auto out = serialize(**model);
  REQUIRE_MESSAGE(out.ok(), out.error().text());
  return *out;
}

TEST_CASE("an untouched model comes out byte for byte") {
  const TemporaryFolder folder;
  const std::string bytes = rich_model().SerializeAsString();
  write_file(folder / "in.onnx", bytes);
  auto model = load(folder / "in.onnx");
  REQUIRE(model.ok());
  REQUIRE(save(**model, folder / "out.onnx").ok());
  CHECK(read_file(folder / "out.onnx") == bytes);
  CHECK(folder.names() == std::vector<std::string>{"in.onnx", "out.onnx"});
}

TEST_CASE("everything survives being written anew") {
  const std::string bytes = rich_model().SerializeAsString();
  const std::string out = saved_after_touch(bytes);
  std::string difference;
  CHECK_MESSAGE(same(bytes, out, &difference), difference);
}

TEST_CASE("a changed block without changed nodes is the same bytes") {
  const std::string bytes = rich_model().SerializeAsString();
  auto model = load_bytes(bytes);
  REQUIRE(model.ok());
  for (std::size_t b = 0; b < (*model)->graph.block_count(); ++b) {
    (*model)->graph.mutable_block(ir::BlockId(b)).changed = true;
  }
  (*model)->changed = true;
  CHECK(*serialize(**model) == bytes);
}

// What stream_apart() gives.
struct Parts {
  std::string message, data;
  std::vector<std::uint64_t> sizes;  // that were told

  static SizedSink sink(std::string& to, std::vector<std::uint64_t>& sizes) {
    return {.size =
                [&](std::uint64_t size) {
                  sizes.push_back(size);
                  return Status();
                },
            .bytes =
                [&](Bytes bytes) {
                  to.append(as_text(bytes));
                  return Status();
                }};
  }
  Status write(const ir::Model& model) {
    return stream_apart(model, "new", sink(message, sizes), sink(data, sizes));
  }
};

// A model with an initializer of 2,000 bytes, all of them 'w', and two new ones
// twice as large.
std::unique_ptr<ir::Model> with_new_tensors() {
  onnx::ModelProto proto = small_model();
  onnx::TensorProto* made = proto.mutable_graph()->add_initializer();
  made->set_name("old");
  made->set_data_type(onnx::TensorProto::FLOAT);
  made->add_dims(500);
  made->set_raw_data(std::string(2000, 'w'));
  auto model = load_bytes(proto.SerializeAsString());
  REQUIRE(model.ok());
  const ir::Graph& graph = (*model)->graph;
  const ir::Literal* old = nullptr;
  for (const ir::ValueId v :
       graph.block(ir::Graph::main_block()).initializers) {
    if (graph.name(v) == "old") old = graph.value(v).tensor;
  }
  REQUIRE(old != nullptr);
  add_joined(**model, old);
  add_joined(**model, old);
  touch_all(**model);
  return *std::move(model);
}

TEST_CASE("new tensors go apart from the message") {
  const auto model = with_new_tensors();
  Parts parts;
  REQUIRE(parts.write(*model).ok());
  CHECK(parts.sizes ==
        std::vector<std::uint64_t>{parts.message.size(), parts.data.size()});
  onnx::ModelProto out;
  REQUIRE(out.ParseFromString(parts.message));
  std::size_t apart = 0;
  for (const auto& tensor : out.graph().initializer()) {
    if (tensor.name() != "joined") {
      CHECK(tensor.external_data_size() == 0);
      continue;
    }
    ++apart;
    REQUIRE(tensor.external_data_size() == 3);
    CHECK(tensor.external_data(0).value() == "new");
    const std::size_t at = std::stoul(tensor.external_data(1).value());
    CHECK(at % 64 == 0);
    CHECK(parts.data.substr(at, 4000) == std::string(4000, 'w'));
    CHECK(tensor.external_data(2).value() == "4000");
  }
  CHECK(apart == 2);
}

TEST_CASE("nothing goes apart where nothing is new") {
  auto model = load_bytes(rich_model().SerializeAsString());
  REQUIRE(model.ok());
  for (const bool is_changed : {false, true}) {
    if (is_changed) touch_all(**model);
    Parts parts;
    REQUIRE(parts.write(**model).ok());
    CHECK(parts.message == *serialize(**model));
    CHECK(parts.sizes.size() == 1);
  }
}

TEST_CASE("a sink that fails ends the writing") {
  const auto model = with_new_tensors();
  std::string message, data;
  std::vector<std::uint64_t> sizes;
  const Diagnostic full{.kind = ErrorKind::kWrite, .what = "full"};
  for (int i = 0; i < 4; ++i) {
    SizedSink sinks[2] = {Parts::sink(message, sizes),
                          Parts::sink(data, sizes)};
    if (i % 2 == 0) {
      sinks[i / 2].size = [&](std::uint64_t) { return Status(full); };
    } else {
      sinks[i / 2].bytes = [&](Bytes) { return Status(full); };
    }
    const Status done = stream_apart(*model, "new", sinks[0], sinks[1]);
    REQUIRE(!done.ok());
    CHECK(done.error().what == "full");
  }
}

bool checker_accepts(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return false;
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

TEST_CASE("models from outside survive both ways of writing") {
  for (const char* sub : {"models", "fixtures/cases"}) {
    const fs::path dir = fs::path(RULEENGINE_SOURCE_DIR) / "../shared" / sub;
    if (!fs::exists(dir)) continue;
    for (const auto& entry : fs::directory_iterator(dir)) {
      if (entry.path().extension() != ".onnx") continue;
      const std::string bytes = read_file(entry.path().string());
      CAPTURE(entry.path().string());
      auto model = load(entry.path().string());
      REQUIRE_MESSAGE(model.ok(), model.error().text());
      CHECK(*serialize(**model) == bytes);
      std::string difference;
      const std::string out = saved_after_touch(bytes);
      CHECK_MESSAGE(same(bytes, out, &difference), difference);
      CHECK((checker_accepts(out) || !checker_accepts(bytes)));
    }
  }
}

}  // namespace
}  // namespace ruleengine::io
