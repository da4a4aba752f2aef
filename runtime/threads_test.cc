#include "runtime/threads.h"

#include <doctest/doctest.h>

#include <string>

namespace ruleengine::runtime {
namespace {

TEST_CASE("a loop runs each place once, whatever the number of threads") {
  for (const int count : {1, 2, 5}) {
    Threads threads(count);
    CHECK(threads.count() == count);
    for (const std::int64_t total : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(total));
      threads.for_each(total, 3, [&](std::int64_t begin, std::int64_t end) {
        CHECK(end - begin <= 3);
        for (std::int64_t i = begin; i < end; ++i) {
          ++seen[static_cast<std::size_t>(i)];
        }
      });
      for (const auto& each : seen) CHECK(each == 1);
    }
  }
}

TEST_CASE("what the first piece throws is thrown, and the pool lives on") {
  Threads threads(3);
  const auto fail_from = [&](std::int64_t first) {
    std::string what;
    try {
      threads.for_each(100, 1, [&](std::int64_t begin, std::int64_t) {
        if (begin >= first) throw std::to_string(begin);
      });
    } catch (const std::string& error) {
      what = error;
    }
    return what;
  };
  CHECK(fail_from(0) == "0");
  CHECK(fail_from(100) == "");
  std::atomic<int> sum = 0;
  threads.for_each(
      10, 1, [&](std::int64_t i, std::int64_t) { sum += static_cast<int>(i); });
  CHECK(sum == 45);
}

TEST_CASE("a loop inside a loop runs where it is") {
  Threads threads(2);
  std::atomic<int> sum = 0;
  threads.for_each(4, 1, [&](std::int64_t, std::int64_t) {
    threads.for_each(5, 1, [&](std::int64_t, std::int64_t) { ++sum; });
  });
  CHECK(sum == 20);
}

TEST_CASE("what `check` throws ends a loop") {
  Threads threads(2);
  threads.check = [] { throw 7; };
  CHECK_THROWS_AS(threads.for_each(9, 1, [](std::int64_t, std::int64_t) {}),
                  int);
}

}  // namespace
}  // namespace ruleengine::runtime
