#include "core/io/read/external.h"
#include "core/base/onnx.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;

void set_entry(onnx::TensorProto* tensor, const std::string& key,
               const std::string& value) {
  auto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

using Entries = std::initializer_list<std::pair<const char*, std::string>>;

// A model whose initializer `e` of type float[count] has this external data.
onnx::ModelProto external_model(Entries entries, std::int64_t count = 4) {
  onnx::ModelProto model = small_model();
  onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("e");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(count);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) set_entry(tensor, key, value);
  return model;
}

class Fixture {
 public:
  std::string verdict(Entries entries) {
    return error_of(external_model(entries), folder / "m");
  }
  bool refused(Entries entries, const char* part) {
    const std::string text = verdict(entries);
    if (text.find(part) != std::string::npos) return true;
    MESSAGE("expected ", part, ", got ", text);
    return false;
  }
  bool refused_at(const std::string& location, const char* part) {
    return refused({{"location", location}}, part);
  }

  TemporaryFolder folder;
};

struct Folders : Fixture {
  Folders() {
    fs::create_directories(folder / "m/sub");
    write_file(folder / "m/data.bin", std::string(100, 'd'));
    write_file(folder / "m/sub/data.bin", std::string(100, 's'));
    write_file(folder / "secret", std::string(100, 'x'));
  }
};

TEST_CASE_FIXTURE(Folders, "external data in the folder or below is found") {
  CHECK(verdict({{"location", "data.bin"}}) == "");
  CHECK(verdict({{"location", "sub/data.bin"}}) == "");
  CHECK(verdict({{"location", "./data.bin"}, {"offset", "84"}}) == "");
  CHECK(verdict({{"location", "data.bin"},
                 {"offset", "3"},
                 {"length", "16"},
                 {"checksum", "00"},
                 {"__class__", "x"}}) == "");
}

TEST_CASE_FIXTURE(Folders, "external data is read when asked for") {
  auto model = load_proto(
      external_model({{"location", "sub/data.bin"}, {"offset", "8"}}),
      folder / "m");
  REQUIRE(model.ok());
  REQUIRE((*model)->external != nullptr);
  const ir::Graph& graph = (*model)->graph;
  const ir::ValueId e = graph.block(ir::Graph::main_block()).initializers[1];
  std::vector<std::byte> scratch;
  auto bytes =
      ir::raw_bytes(*graph.value(e).tensor, (*model)->external.get(), scratch);
  REQUIRE(bytes.ok());
  CHECK(bytes->size() == 16);
  CHECK((*bytes)[0] == std::byte{'s'});
}

TEST_CASE_FIXTURE(Folders, "a file exchanged after load is noticed") {
  auto model =
      load_proto(external_model({{"location", "data.bin"}}), folder / "m");
  REQUIRE(model.ok());
  write_file(folder / "m/other", std::string(100, 'o'));
  fs::rename(folder / "m/other", folder / "m/data.bin");
  auto bytes = (*model)->external->read({"data.bin", 0, 16}, 16);
  REQUIRE(!bytes.ok());
  CHECK(bytes.error().what.find("changed") != std::string::npos);
}

TEST_CASE_FIXTURE(Folders, "a file that shrank after load is noticed") {
  const auto load = [&] {
    auto model =
        load_proto(external_model({{"location", "data.bin"}}), folder / "m");
    REQUIRE(model.ok());
    return std::move(*model);
  };
  const auto shrunk = load();
  fs::resize_file(folder / "m/data.bin", 99);
  const auto bytes = shrunk->external->read({"data.bin", 0, 16}, 16);
  REQUIRE(!bytes.ok());
  CHECK(bytes.error().what.find("changed") != std::string::npos);
  // A file that grew still has all the data.
  const auto grown = load();
  fs::resize_file(folder / "m/data.bin", 200);
  CHECK(grown->external->read({"data.bin", 0, 16}, 16).ok());
  CHECK(!grown->external->read({"data.bin", 99, 1}, 1).ok());
}

TEST_CASE_FIXTURE(Folders, "nothing outside of a data file is read") {
  auto model =
      load_proto(external_model({{"location", "data.bin"}}), folder / "m");
  REQUIRE(model.ok());
  const auto read = [&](std::int64_t offset, std::int64_t length) {
    const auto bytes =
        (*model)->external->read({"data.bin", offset, length}, length);
    return bytes ? static_cast<std::int64_t>(bytes->size()) : -1;
  };
  CHECK(read(0, 100) == 100);
  CHECK(read(99, 1) == 1);
  CHECK(read(100, 0) == 0);
  CHECK(read(0, 0) == 0);
  CHECK(read(-1, 1) == -1);
  CHECK(read(-1, 0) == -1);
  CHECK(read(INT64_MIN, 16) == -1);
  CHECK(read(0, -1) == -1);
  CHECK(read(0, 101) == -1);
  CHECK(read(100, 1) == -1);
  CHECK(read(101, 0) == -1);
  CHECK(read(INT64_MAX, INT64_MAX) == -1);
}

TEST_CASE_FIXTURE(Folders, "nothing outside the folder is opened") {
  for (const char* location : {"../secret", "sub/../../secret",
                               "sub/../data.bin", "..", "/etc/passwd", "/"}) {
    CHECK(refused_at(location, "outside the model's folder"));
  }
  CHECK(refused_at((folder / "m/data.bin"), "outside the model's folder"));
  CHECK(refused_at("", "no location"));
  CHECK(refused({}, "no location"));
  CHECK(refused_at(".", "not a regular file"));
  CHECK(refused_at("sub", "not a regular file"));
  CHECK(refused_at("none.bin", "missing"));
  CHECK(refused_at("data.bin/x", "missing"));
  CHECK(refused_at("C:\\data.bin", "missing"));
  CHECK(refused_at("\\\\server\\data", "missing"));
  CHECK(refused_at("file://data.bin", "missing"));
  CHECK(refused_at(std::string("data.bin\0", 9), "NUL"));
  CHECK(refused_at(std::string("data.bin\0/../x", 14), "NUL"));
  CHECK(refused_at(std::string(10000, 'a'), "cannot be opened"));
}

TEST_CASE_FIXTURE(Folders, "no link of any kind is followed") {
  fs::create_symlink(folder / "secret", folder / "m/link");
  fs::create_symlink("data.bin", folder / "m/inner");
  fs::create_symlink("loop", folder / "m/loop");
  fs::create_symlink("nowhere", folder / "m/dangling");
  fs::create_directory_symlink("sub", folder / "m/dir");
  fs::create_directory_symlink("..", folder / "m/up");
  for (const char* location :
       {"link", "inner", "loop", "dangling", "dir/data.bin", "up/secret"}) {
    CHECK(refused_at(location, "symbolic link"));
  }
  fs::create_hard_link(folder / "secret", folder / "m/hard");
  CHECK(refused_at("hard", "hard link"));
}

TEST_CASE_FIXTURE(Folders, "only regular files are data") {
  REQUIRE(::mkfifo((folder / "m/fifo").c_str(), 0600) == 0);
  CHECK(refused_at("fifo", "not a regular file"));
}

TEST_CASE_FIXTURE(Folders, "offset and length are numbers that fit") {
  const auto with = [&](const char* key, const std::string& value,
                        const char* part) {
    return refused({{"location", "data.bin"}, {key, value}}, part);
  };
  for (const char* bad :
       {"-1", "1e3", " 12", "12 ", "0x10", "", "+4", "99999999999999999999"}) {
    CHECK(with("offset", bad, "not a number"));
    CHECK(with("length", bad, "not a number"));
  }
  CHECK(with("offset", "85", "too short"));
  CHECK(with("offset", "9223372036854775807", "too short"));
  CHECK(with("length", "15", "do not fit"));
  CHECK(with("length", "17", "do not fit"));
  CHECK(with("length", "0", "do not fit"));
  CHECK(refused({{"location", "data.bin"}, {"location", "x"}}, "twice"));
  CHECK(error_of(external_model({{"location", "data.bin"}}, 26), folder / "m")
            .find("too short") != std::string::npos);
}

TEST_CASE_FIXTURE(Folders, "data is in one place") {
  onnx::ModelProto model = external_model({{"location", "data.bin"}});
  model.mutable_graph()->mutable_initializer(1)->set_raw_data(
      std::string(16, 'r'));
  CHECK(error_of(model, folder / "m").find("twice") != std::string::npos);
  onnx::ModelProto strings = external_model({{"location", "data.bin"}});
  strings.mutable_graph()->mutable_initializer(1)->set_data_type(
      onnx::TensorProto::STRING);
  CHECK(error_of(strings, folder / "m").find("strings cannot") !=
        std::string::npos);
}

TEST_CASE("a model from memory needs to be told the folder") {
  CHECK(
      error_of(external_model({{"location", "data.bin"}})).find("no folder") !=
      std::string::npos);
}

TEST_CASE_FIXTURE(Folders, "the walk without openat2 has the same policy") {
  fs::create_symlink(folder / "secret", folder / "m/link");
  fs::create_directory_symlink("..", folder / "m/up");
  const Descriptor dir(::open((folder / "m").c_str(), O_PATH | O_DIRECTORY));
  for (Walk walk : {Walk::kKernel, Walk::kSteps}) {
    for (const char* good : {"data.bin", "sub/data.bin", "./sub/.//data.bin"}) {
      CHECK(open_confined(dir.get(), good, walk).ok());
    }
    for (const char* bad : {"link", "up/secret", "up", "sub", "sub/", ".",
                            "data.bin/", "../secret", "none"}) {
      CAPTURE(bad);
      CHECK(!open_confined(dir.get(), bad, walk).ok());
    }
  }
}

}  // namespace
}  // namespace ruleengine::io
