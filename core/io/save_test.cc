#include "core/io/save.h"
#include "core/base/onnx.h"

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
