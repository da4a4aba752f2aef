#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/onnx.h"
#include "core/io/output.h"
#include "core/io/staged.h"
#include "tests/support/io.h"

namespace ruleengine::io {
namespace {

using namespace testing;
using Names = std::vector<std::string>;

struct Saved {
  TemporaryFolder folder;
  std::unique_ptr<ir::Model> model;

  Saved() {
    onnx::ModelProto proto = small_model();
    add_tensor(proto.mutable_graph(), "big", {500000});
    write_file(folder / "in.onnx", proto.SerializeAsString());
    auto loaded = load(folder / "in.onnx");
    REQUIRE(loaded.ok());
    model = std::move(*loaded);
  }
  ErrorKind kind_of(const std::string& path) {
    const Status s = save(*model, path);
    REQUIRE(!s.ok());
    return s.error().kind;
  }
};

TEST_CASE_FIXTURE(Saved, "the model itself is never the result") {
  fs::create_symlink("in.onnx", folder / "soft.onnx");
  fs::create_hard_link(folder / "in.onnx", folder / "hard.onnx");
  const std::string before = read_file(folder / "in.onnx");
  for (const char* name : {"in.onnx", "soft.onnx", "hard.onnx", "./in.onnx"}) {
    CHECK(kind_of(folder / name) == ErrorKind::kUsage);
  }
  CHECK(read_file(folder / "in.onnx") == before);
  CHECK(folder.names() == Names{"hard.onnx", "in.onnx", "soft.onnx"});
}

TEST_CASE_FIXTURE(Saved, "what cannot be written leaves nothing behind") {
  fs::create_directory(folder / "dir");
  CHECK(kind_of(folder / "none/out.onnx") == ErrorKind::kWrite);
  CHECK(kind_of(folder / "dir") == ErrorKind::kWrite);
  CHECK(kind_of(folder / "dir/") == ErrorKind::kWrite);
  CHECK(kind_of("") == ErrorKind::kWrite);
  CHECK(kind_of("/dev/full") == ErrorKind::kWrite);
  CHECK(kind_of(folder / std::string(300, 'a')) == ErrorKind::kWrite);
  CHECK(kind_of("/proc/out.onnx") == ErrorKind::kWrite);
  struct stat info;
  REQUIRE(::stat("/dev/full", &info) == 0);
  CHECK(S_ISCHR(info.st_mode));
  CHECK(folder.names() == Names{"dir", "in.onnx"});
}

TEST_CASE_FIXTURE(Saved, "a full disk keeps the old result") {
  write_file(folder / "out.onnx", "old");
  rlimit old;
  ::getrlimit(RLIMIT_FSIZE, &old);
  for (const bool touched : {false, true}) {
    if (touched) touch_all(*model);
    const rlimit small = {100000, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const ErrorKind kind = kind_of(folder / "out.onnx");
    ::setrlimit(RLIMIT_FSIZE, &old);
    CHECK(kind == ErrorKind::kWrite);
    CHECK(read_file(folder / "out.onnx") == "old");
    CHECK(folder.names() == Names{"in.onnx", "out.onnx"});
  }
  REQUIRE(save(*model, folder / "out.onnx").ok());
  CHECK(same(read_file(folder / "out.onnx"), read_file(folder / "in.onnx")));
  CHECK(folder.names() == Names{"in.onnx", "out.onnx"});
}

TEST_CASE_FIXTURE(Saved, "the original is intact while the result is read") {
  REQUIRE(save(*model, folder / "out.onnx").ok());
  auto again = load(folder / "out.onnx");
  REQUIRE(again.ok());
  touch_all(*model);
  REQUIRE(save(*model, folder / "out.onnx").ok());  // replaces by rename
  touch_all(**again);
  CHECK(serialize(**again).ok());
  CHECK(check_intact(**again).ok());
}

TEST_CASE(
    "an output that is dropped leaves nothing, a committed one is whole") {
  const TemporaryFolder folder;
  {
    auto out = OutputFile::create(folder / "a");
    REQUIRE(out.ok());
    REQUIRE((*out)->write(as_bytes("data")).ok());
    CHECK(folder.names().size() <= 1);  // at most a temporary name
  }
  CHECK(folder.names().empty());
  auto out = OutputFile::create(folder / "a");
  REQUIRE((*out)->write(as_bytes("data")).ok());
  REQUIRE((*out)->pad(10).ok());
  REQUIRE((*out)->finish(true).ok());
  REQUIRE((*out)->commit().ok());
  CHECK(read_file(folder / "a") == std::string("data\0\0\0\0\0\0", 10));

  auto other = OutputFile::create(folder / "a");
  REQUIRE((*other)->write(as_bytes("other")).ok());
  REQUIRE((*other)->finish(false).ok());
  const auto taken = (*other)->take(folder / "a");
  REQUIRE(taken.ok());
  CHECK(!*taken);
  REQUIRE((*other)->commit().ok());
  CHECK(read_file(folder / "a") == "other");
  (*other)->revert();
  CHECK(read_file(folder / "a").size() == 10);
  CHECK(folder.names() == Names{"a"});
}

TEST_CASE("all results appear, or none") {
  const TemporaryFolder folder;
  write_file(folder / "a", "before");
  const auto staged = [&](const char* name) {
    auto file = OutputFile::create(folder / name);
    REQUIRE(file.ok());
    REQUIRE((*file)->write(as_bytes("after")).ok());
    REQUIRE((*file)->finish(false).ok());
    return Staged(*std::move(file));
  };
  {
    fs::create_directory(folder / "gone");
    Staged a = staged("a"), b = staged("gone/b");
    fs::remove_all(folder / "gone");
    Staged* const both[] = {&a, &b};
    CHECK_FALSE(commit_all(both).ok());
    CHECK(read_file(folder / "a") == "before");
  }
  CHECK(folder.names() == Names{"a"});
  Staged a = staged("a"), c = staged("c");
  Staged* const both[] = {&a, &c};
  CHECK(commit_all(both).ok());
  CHECK(read_file(folder / "a") == "after");
  CHECK(folder.names() == Names{"a", "c"});
}

TEST_CASE("files with holes are copied as such") {
  const TemporaryFolder folder;
  write_file(folder / "in", "head");
  REQUIRE(::truncate((folder / "in").c_str(), 64 << 20) == 0);
  const Descriptor in(::open((folder / "in").c_str(), O_RDONLY));
  auto out = OutputFile::create(folder / "out");
  REQUIRE((*out)->copy(in.get(), 0, 64 << 20).ok());
  REQUIRE((*out)->finish(false).ok());
  REQUIRE((*out)->commit().ok());
  struct stat info;
  REQUIRE(::stat((folder / "out").c_str(), &info) == 0);
  CHECK(info.st_size == 64 << 20);
  CHECK(info.st_blocks < 1000);
  CHECK(read_file(folder / "out").substr(0, 5) == std::string("head\0", 5));
}

}  // namespace
}  // namespace ruleengine::io
