#include "kernels/cuda/attention/plan_cache.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "core/base/folder.h"

namespace ruleengine::kernels::cuda {
namespace {

namespace fs = std::filesystem;

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "plans-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }
  std::vector<fs::path> files() const {
    std::error_code error;
    std::vector<fs::path> out;
    for (const std::string& name : names_in(path_, error)) {
      out.push_back(path_ / name);
    }
    return out;
  }

 private:
  fs::path path_;
};

// A plan is the number of queries it is for; none is for more than 100. Of 100
// nothing is known here, and 99 fails each time.
struct Builder {
  std::atomic<int> calls = 0;

  PlanMaker<int> maker() {
    return {.build = [this](const AttentionDescription& d) -> Result<int> {
              ++calls;
              const int queries = static_cast<int>(d.q_length);
              if (queries > 100) return Diagnostic{.what = "too many"};
              if (queries == 100) {
                return Diagnostic{.kind = ErrorKind::kUsage, .what = "away"};
              }
              if (queries == 99) {
                return Diagnostic{.kind = ErrorKind::kLimit, .what = "full"};
              }
              return queries;
            },
            .load = [](std::string_view bytes) -> Result<int> {
              return std::stoi(std::string(bytes));
            },
            .save = [](const int& plan) -> Result<std::string> {
              return std::to_string(plan);
            }};
  }
};

AttentionDescription queries(std::int64_t n) { return {.q_length = n}; }

PlanPlace place() { return {.chip = {.name = "C"}, .cudnn = 1, .frontend = 2}; }

TEST_CASE("a plan is built once") {
  Builder builder;
  PlanCache<int> cache(builder.maker(), place(), 8);
  CHECK(cache.get(queries(3)).value() == 3);
  CHECK(cache.get(queries(3)).value() == 3);
  CHECK(cache.counts().builds == 1);
  CHECK(cache.counts().hits == 1);
}

TEST_CASE("errors are kept that are not of a moment") {
  Builder builder;
  PlanCache<int> cache(builder.maker(), place(), 8);
  for (int i = 0; i < 2; ++i) {
    CHECK(cache.get(queries(101)).error().what == "too many");
    CHECK(cache.get(queries(100)).error().what == "away");
    CHECK(cache.get(queries(99)).error().what == "full");
  }
  CHECK(builder.calls == 4);
  CHECK(cache.counts().refusals == 1);
  CHECK(cache.size() == 2);
}

TEST_CASE("what is not in memory is not built where it is looked for") {
  Builder builder;
  PlanCache<int> cache(builder.maker(), place(), 8);
  CHECK(!cache.find(queries(3)));
  REQUIRE(cache.get(queries(3)));
  REQUIRE(cache.find(queries(3)));
  CHECK(cache.find(queries(3))->value() == 3);
  cache.refuse(queries(3), {.what = "wrong"}, false);
  CHECK(cache.find(queries(3))->error().what == "wrong");
  CHECK(builder.calls == 1);
}

TEST_CASE("a lasting refusal is of the next process, too") {
  const Folder folder;
  for (const bool is_first : {true, false}) {
    Builder builder;
    PlanCache<int> cache(builder.maker(), place(), 8,
                         PlanStore(folder.path(), 1 << 20));
    if (is_first) {
      for (const int n : {3, 4}) {
        REQUIRE(cache.get(queries(n)));
        cache.refuse(queries(n), {.what = "wrong"}, n == 4);
      }
    }
    CHECK(cache.get(queries(3)).ok() == !is_first);
    CHECK(cache.get(queries(4)).error().what == "wrong");
  }
}

TEST_CASE("what was used least recently goes") {
  Builder builder;
  PlanCache<int> cache(builder.maker(), place(), 2);
  for (const int n : {1, 2, 1, 3, 1}) REQUIRE(cache.get(queries(n)));
  CHECK(builder.calls == 3);
  REQUIRE(cache.get(queries(2)));
  CHECK(builder.calls == 4);
  CHECK(cache.size() == 2);
}

TEST_CASE("threads that want one plan build it once") {
  Builder builder;
  PlanMaker<int> slow = builder.maker();
  slow.build = [&, build = slow.build](const AttentionDescription& d) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return build(d);
  };
  PlanCache<int> cache(slow, place(), 8);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 4; ++n) {
        const int wanted = 1 + (n + i) % 4;
        const Result<int> plan = cache.get(queries(wanted));
        if (!plan || *plan != wanted) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(cache.counts().builds == 4);
  CHECK(cache.counts().hits == 28);
}

TEST_CASE("an exception of a builder is kept by none") {
  int calls = 0;
  PlanMaker<int> maker{
      .build = [&](const AttentionDescription&) -> Result<int> {
        if (++calls == 1) throw std::bad_alloc();
        return 5;
      }};
  PlanCache<int> cache(maker, place(), 8);
  CHECK_THROWS_AS((void)cache.get(queries(1)), std::bad_alloc);
  CHECK(cache.get(queries(1)).value() == 5);
}

TEST_CASE("a folder serves the next process") {
  const Folder folder;
  for (const int builds : {2, 0}) {
    Builder builder;
    PlanCache<int> cache(builder.maker(), place(), 8,
                         PlanStore(folder.path(), 1 << 20));
    CHECK(cache.get(queries(3)).value() == 3);
    CHECK(cache.get(queries(101)).error().what == "too many");
    CHECK(builder.calls == builds);
    CHECK(cache.counts().loads == (builds == 0 ? 2 : 0));
  }
  // A plan is for its chip and its cuDNN.
  Builder builder;
  PlanPlace other = place();
  other.chip.driver += 1;
  PlanCache<int> cache(builder.maker(), other, 8,
                       PlanStore(folder.path(), 1 << 20));
  CHECK(cache.get(queries(3)).value() == 3);
  CHECK(builder.calls == 1);
}

TEST_CASE("a stored plan is itself, or not there") {
  const Folder folder;
  const PlanStore store(folder.path() / "new" / "one", 1 << 20);
  const StoredPlan plan{.bytes = std::string("a\0b", 3)};
  CHECK_FALSE(store.read("key"));
  REQUIRE(store.write("key", plan));
  CHECK(store.read("key") == plan);
  CHECK_FALSE(store.read("other"));
  const StoredPlan refusal{.is_refusal = true, .bytes = "why"};
  REQUIRE(store.write("key", refusal));
  CHECK(store.read("key") == refusal);
}

TEST_CASE("a damaged file is passed over") {
  const Folder folder;
  const PlanStore store(folder.path(), 1 << 20);
  REQUIRE(store.write("key", {.bytes = "plan"}));
  REQUIRE(folder.files().size() == 1);
  const fs::path file = folder.files()[0];
  std::ifstream in(file, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  const auto put = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    put(bad);
    CHECK_FALSE(store.read("key"));
    put(good.substr(0, i));
    CHECK_FALSE(store.read("key"));
  }
  put(good + "x");
  CHECK_FALSE(store.read("key"));
  put(good);
  CHECK(store.read("key"));
  // Others could have written these.
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  CHECK_FALSE(store.read("key"));
  fs::rename(file, folder.path() / "elsewhere");
  fs::create_symlink(folder.path() / "elsewhere", file);
  CHECK_FALSE(store.read("key"));
}

TEST_CASE("files of others stay") {
  const Folder folder;
  const std::vector<std::string> others = {
      "business.planning.tar", "0123456789abcdef.plans", "notes.plan",
      "0123456789abcdef.plan.old"};
  for (const std::string& each : others) {
    std::ofstream(folder.path() / each) << std::string(1000, 'x');
  }
  const std::string part = "0123456789abcdef.plan.12.3";
  std::ofstream(folder.path() / part) << std::string(1000, 'x');
  const PlanStore store(folder.path(), 200);
  REQUIRE(store.write("key", {.bytes = "plan"}));
  for (const std::string& each : others) {
    CHECK(fs::exists(folder.path() / each));
  }
  CHECK(!fs::exists(folder.path() / part));
  CHECK(store.read("key"));
}

TEST_CASE("a folder has a size") {
  const Folder folder;
  const PlanStore store(folder.path(), 4000);
  const StoredPlan plan{.bytes = std::string(900, 'x')};
  for (int i = 0; i < 10; ++i) {
    REQUIRE(store.write(std::to_string(i), plan));
    std::uintmax_t total = 0;
    for (const fs::path& file : folder.files()) total += fs::file_size(file);
    CHECK(total <= 4000);
  }
  CHECK(folder.files().size() >= 3);
  CHECK_FALSE(store.write("large", {.bytes = std::string(5000, 'x')}));
}

TEST_CASE("a folder that cannot be written costs only time") {
  Builder builder;
  PlanCache<int> cache(builder.maker(), place(), 8,
                       PlanStore("/proc/no/such", 1 << 20));
  CHECK(cache.get(queries(3)).value() == 3);
}

}  // namespace
}  // namespace ruleengine::kernels::cuda
