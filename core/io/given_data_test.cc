// Models and data in memory of the caller.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "core/io/load.h"
#include "core/io/save.h"
#include "core/ir/literal.h"
#include "tests/support/weighted_model.h"

namespace ruleengine::io {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

const ir::Literal& weight_of(const ir::Model& model) {
  const ir::Graph& graph = model.graph;
  const auto& all = graph.block(ir::Graph::main_block()).initializers;
  REQUIRE(all.size() == 1);
  return *graph.value(all[0]).tensor;
}

TEST_CASE("a borrowed model keeps its tensors where they are") {
  const std::string bytes = model_with_weight("", false);
  auto model = load_borrowed(bytes_of(bytes));
  REQUIRE(model.ok());
  const auto* at =
      reinterpret_cast<const char*>(weight_of(**model).bytes.data());
  CHECK(at > bytes.data());
  CHECK(at < bytes.data() + bytes.size());
  CHECK(serialize(**model).value() == bytes);
  CHECK(load_borrowed({}).error().what == "the model is empty");
}

TEST_CASE("data that the caller gives") {
  const std::string bytes = model_with_weight("w.bin", true);
  const std::string data(2048, '\7');
  int asked = 0;
  LoadOptions options;
  options.give_data = [&](std::string_view location)
      -> Result<std::optional<std::span<const std::byte>>> {
    ++asked;
    CHECK(location == "w.bin");
    return std::optional(bytes_of(data));
  };
  auto model = load_borrowed(bytes_of(bytes), options);
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  std::vector<std::byte> scratch;
  const auto read =
      ir::raw_bytes(weight_of(**model), (*model)->external.get(), scratch);
  REQUIRE(read.ok());
  CHECK(static_cast<const void*>(read->data()) == data.data() + 8);
  CHECK(scratch.empty());
  CHECK(asked == 1);
  // In memory the model keeps its locations; a file gets its data beside it.
  CHECK(serialize(**model).value() == bytes);
  const fs::path folder = fs::temp_directory_path() / "ruleengine_given_data";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string path = (folder / "out.onnx").string();
  REQUIRE(save(**model, path).ok());
  auto again = load(path);
  REQUIRE_MESSAGE(again.ok(), again.error().text());
  CHECK(ir::equal_bits(weight_of(**again), weight_of(**again),
                       (*again)->external.get()));
  CHECK(ir::raw_bytes(weight_of(**again), (*again)->external.get(), scratch)
            .value()[0] == std::byte{7});
  fs::remove_all(folder);
}

TEST_CASE("a model is saved with the data that the caller gave") {
  const fs::path folder = fs::temp_directory_path() / "ruleengine_given_own";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "m.onnx") << model_with_weight("w.bin", true);
  const std::string data(2048, '\7');
  LoadOptions options;
  options.give_data = [&](std::string_view)
      -> Result<std::optional<std::span<const std::byte>>> {
    return std::optional(bytes_of(data));
  };
  auto model = load((folder / "m.onnx").string(), options);
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  // Its own folder lacks the data.
  const std::string out = (folder / "out.onnx").string();
  CHECK(save(**model, out, {.share_data = true}).error().kind ==
        ErrorKind::kUsage);
  REQUIRE(save(**model, out).ok());
  CHECK(load(out).ok());
  fs::remove_all(folder);
}

TEST_CASE("data that the caller does not have") {
  const std::string bytes = model_with_weight("w.bin", true);
  LoadOptions options;
  CHECK(!load_borrowed(bytes_of(bytes), options).ok());
  options.give_data = [](std::string_view)
      -> Result<std::optional<std::span<const std::byte>>> {
    return std::optional<std::span<const std::byte>>();
  };
  CHECK(!load_borrowed(bytes_of(bytes), options).ok());
  options.give_data = [](std::string_view)
      -> Result<std::optional<std::span<const std::byte>>> {
    return Diagnostic{.kind = ErrorKind::kLimit, .what = "no connection"};
  };
  CHECK(load_borrowed(bytes_of(bytes), options).error().what ==
        "no connection");
  const std::string little(16, '\0');
  options.give_data = [&](std::string_view)
      -> Result<std::optional<std::span<const std::byte>>> {
    return std::optional(bytes_of(little));
  };
  CHECK(!load_borrowed(bytes_of(bytes), options).ok());
}

TEST_CASE("a sink that fails ends the writing") {
  const std::string bytes = model_with_weight("", false);
  auto model = load_borrowed(bytes_of(bytes));
  REQUIRE(model.ok());
  const auto full = [](auto&&...) -> Status {
    return Diagnostic{.kind = ErrorKind::kWrite, .what = "full"};
  };
  const auto fine = [](auto&&...) { return Status(); };
  CHECK(stream(**model, {.size = full, .bytes = fine}).error().what == "full");
  CHECK(stream(**model, {.size = fine, .bytes = full}).error().what == "full");
}

}  // namespace
}  // namespace ruleengine::io
