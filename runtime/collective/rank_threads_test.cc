// Ranks as threads: what the collectives give, what they send, and how a run
// ends where a rank fails, stalls or calls something else.
#include <doctest/doctest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "core/base/deadline.h"
#include "runtime/communicator.h"
#include "runtime/failure.h"
#include "runtime/preparation.h"
#include "runtime/rank_threads.h"

namespace ruleengine::runtime {
namespace {

using namespace std::chrono_literals;

// What a rank needs to call an operation.
struct Own {
  Threads threads{1};
  KernelRun state{.memory = HostMemory::create(), .threads = &threads};

  Tensor floats(std::vector<std::int64_t> dims, float first, float step) {
    Tensor out = allocate(state, ir::DataType::kFloat, dims);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      out.mutable_data<float>()[i] = first + step * static_cast<float>(i);
    }
    return out;
  }
};

std::vector<float> numbers(const Tensor& t) {
  return {t.data<float>(), t.data<float>() + t.count()};
}

std::vector<std::int64_t> all_of(int count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST_CASE("sums, shares and gathers, and what is sent for them") {
  for (const int n : {2, 3, 4, 8}) {
    CAPTURE(n);
    const std::int64_t rows = 2 * n, count = rows * 3;
    const auto group = all_of(n);
    const auto status = run_ranks(n, [&](RankPlace& place) -> Status {
      Own own;
      Communicator& c = place.communicator;
      const auto r = static_cast<float>(c.rank());
      // Of rank r: r + i, so that the sum is n i + 0 + 1 + ... + n-1.
      const Tensor x = own.floats({rows, 3}, r, 1);
      const auto total = static_cast<float>(n * (n - 1) / 2);
      const Tensor sum = c.all_reduce(group, x, own.state);
      const Tensor share = c.reduce_scatter(group, x, 0, own.state);
      const Tensor back = c.all_gather(group, share, 0, own.state);
      CHECK(share.dim(0) == 2);
      for (std::int64_t i = 0; i < count; ++i) {
        CHECK(sum.data<float>()[i] == static_cast<float>(n * i) + total);
      }
      CHECK(numbers(back) == numbers(sum));
      const auto bytes = static_cast<std::uint64_t>(count) * 4;
      const auto m = static_cast<std::uint64_t>(n);
      // Pieces that n does not divide differ by an element.
      const auto near = [](std::uint64_t a, std::uint64_t b) {
        return a + 8 >= b && b + 8 >= a;
      };
      CHECK(near(c.sent().at("all_reduce").bytes, 2 * bytes * (m - 1) / m));
      CHECK(near(c.sent().at("reduce_scatter").bytes, bytes * (m - 1) / m));
      CHECK(near(c.sent().at("all_gather").bytes, bytes * (m - 1) / m));
      return {};
    });
    CHECK(status);
  }
}

TEST_CASE("along the second axis, and in groups") {
  const auto status = run_ranks(4, [](RankPlace& place) -> Status {
    Own own;
    Communicator& c = place.communicator;
    const std::vector<std::int64_t> even = {0, 2}, odd = {1, 3};
    const auto& group = c.rank() % 2 == 0 ? even : odd;
    const auto r = static_cast<float>(c.rank());
    const Tensor x = own.floats({2, 2}, 10 * r, 1);
    const Tensor all = c.all_gather(group, x, 1, own.state);
    const float a = c.rank() % 2 == 0 ? 0 : 10, b = a + 20;
    CHECK(numbers(all) ==
          std::vector<float>{a, a + 1, b, b + 1, a + 2, a + 3, b + 2, b + 3});
    const Tensor share = c.reduce_scatter(group, all, 1, own.state);
    CHECK(share.dim(1) == 2);
    return {};
  });
  CHECK(status);
}

TEST_CASE("sums have the same bits in every run and on every rank") {
  std::vector<float> first;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::vector<float>> got(4);
    const auto status = run_ranks(4, [&](RankPlace& place) -> Status {
      Own own;
      Communicator& c = place.communicator;
      const auto r = static_cast<std::size_t>(c.rank());
      const float scale[] = {1e8F, 1.1F, -1e8F, 0.3F};
      const Tensor x = own.floats({7, 5}, scale[r], scale[r] / 3);
      if (r == static_cast<std::size_t>(repeat % 4)) {
        std::this_thread::sleep_for(1ms);
      }
      got[r] = numbers(c.all_reduce(all_of(4), x, own.state));
      return {};
    });
    REQUIRE(status);
    if (first.empty()) first = got[0];
    for (const auto& each : got) REQUIRE(each == first);
  }
}

TEST_CASE("a rank that fails ends the others, and its error is the run's") {
  const auto begin = std::chrono::steady_clock::now();
  const auto status = run_ranks(3, [](RankPlace& place) -> Status {
    Own own;
    if (place.communicator.rank() == 1) {
      return Diagnostic{.what = "the disk is full", .where = "here"};
    }
    place.communicator.all_reduce(all_of(3), own.floats({4}, 0, 1), own.state);
    return {};
  });
  REQUIRE(!status);
  CHECK(status.error().what == "the disk is full");
  CHECK(status.error().where == "rank 1, here");
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

// The error of a run of `count` ranks.
template <typename F>
Diagnostic error_of(int count, F run) {
  const auto status = run_ranks(count, [&](RankPlace& place) -> Status {
    Own own;
    run(place.communicator, own);
    return {};
  });
  REQUIRE(!status);
  return status.error();
}

TEST_CASE("of ranks that fail by themselves the lowest is named") {
  for (int i = 0; i < 3; ++i) {
    const auto status = run_ranks(3, [&](RankPlace& place) -> Status {
      const int rank = place.communicator.rank();
      // Whoever is told to end while it works has no error of its own.
      if (rank != i) {
        for (int k = 0; k < 30 && !place.is_cancelled(); ++k) {
          std::this_thread::sleep_for(1ms);
        }
      }
      return Diagnostic{.what = "no"};
    });
    REQUIRE(!status);
    REQUIRE(status.error().where == "rank 0");
  }
}

TEST_CASE("a rank that computes on is ended some time after another failed") {
  const auto status = run_ranks(2, [](RankPlace& place) -> Status {
    if (place.communicator.rank() == 1) return Diagnostic{.what = "no"};
    while (!place.is_cancelled()) std::this_thread::sleep_for(1ms);
    return Diagnostic{.what = "cancelled"};
  });
  REQUIRE(!status);
  CHECK(status.error().where == "rank 1");
}

// Sums over a group, with a tensor of so many elements.
void sum(Communicator& c, Own& own, std::vector<std::int64_t> group,
         std::int64_t count = 4) {
  c.all_reduce(group, own.floats({count}, 0, 1), own.state);
}

TEST_CASE("a rank that has ended is not waited for") {
  for (int i = 0; i < 20; ++i) {
    const Diagnostic error = error_of(3, [&](Communicator& c, Own& own) {
      if (c.rank() == 1) return;
      if (i % 2 == c.rank() / 2) std::this_thread::sleep_for(2ms);
      sum(c, own, {0, 1, 2});
    });
    REQUIRE(error.what == "rank 1 ended before the op");
  }
}

TEST_CASE("all members call the same") {
  const auto differ = [](auto of_rank_1) {
    const Diagnostic error = error_of(3, [&](Communicator& c, Own& own) {
      if (c.rank() == 1) {
        of_rank_1(c, own);
      } else {
        c.all_gather(all_of(3), own.floats({2, 3}, 0, 1), 0, own.state);
      }
    });
    CHECK(error.what == "ranks called different ops, or with different sizes");
    CHECK(error.where == "rank 0");
    CHECK(error.expected == "all_gather of float[2,3] along axis 0 on rank 0");
    return error.found;
  };
  const auto gather = [](std::vector<std::int64_t> dims, std::size_t axis) {
    return [=](Communicator& c, Own& own) {
      c.all_gather(all_of(3), own.floats(dims, 0, 1), axis, own.state);
    };
  };
  for (int i = 0; i < 10; ++i) {
    CHECK(differ(gather({2, 3}, 1)) ==
          "all_gather of float[2,3] along axis 1 on rank 1");
    // The same bytes, but other sizes.
    CHECK(differ(gather({3, 2}, 0)) ==
          "all_gather of float[3,2] along axis 0 on rank 1");
    CHECK(differ([](Communicator& c, Own& own) {
            sum(c, own, all_of(3), 6);
          }) == "all_reduce of float[6] on rank 1");
  }
}

TEST_CASE("ranks that wait for each other are named") {
  for (int i = 0; i < 20; ++i) {
    const Diagnostic two = error_of(2, [&](Communicator& c, Own& own) {
      if (c.rank() == i % 2) std::this_thread::sleep_for(1ms);
      const bool first = c.rank() == 0;
      sum(c, own, first ? all_of(2) : std::vector<std::int64_t>{1, 0});
    });
    REQUIRE(two.what == "ranks wait for each other");
    REQUIRE(two.where == "rank 0");
    REQUIRE(two.found ==
            "rank 0 for rank 1 in the group [0,1], rank 1 for rank 0 in the "
            "group [1,0]");
    // In a circle of three, while a fourth works on and a fifth waits.
    const Diagnostic three = error_of(5, [&](Communicator& c, Own& own) {
      const std::int64_t r = c.rank();
      if (r == i % 3) std::this_thread::sleep_for(1ms);
      if (r == 3) std::this_thread::sleep_for(30ms);
      if (r >= 3) {
        sum(c, own, {3, 4});
      } else {
        const std::int64_t next = (r + 1) % 3;
        sum(c, own, {std::min(r, next), std::max(r, next)});
      }
    });
    REQUIRE(three.what == "ranks wait for each other");
    REQUIRE(three.where == "rank 0");
    REQUIRE(three.found ==
            "rank 0 for rank 1 in the group [0,1], rank 1 for rank 2 in the "
            "group [1,2], rank 2 for rank 0 in the group [0,2]");
  }
}

TEST_CASE("groups in another order that do not wait for each other") {
  const auto status = run_ranks(3, [](RankPlace& place) -> Status {
    Own own;
    Communicator& c = place.communicator;
    for (int i = 0; i < 50; ++i) {
      if (c.rank() != 2) sum(c, own, {0, 1});
      if (c.rank() != 0) sum(c, own, {2, 1});
      if (c.rank() != 1) sum(c, own, {0, 2});
      sum(c, own, {2, 0, 1}, 3 + i);
    }
    return {};
  });
  CHECK(status);
}

TEST_CASE("a rank that works for long is waited for, up to the deadline") {
  const auto late = [](RankPlace& place, double seconds) -> Status {
    Own own;
    const Deadline deadline(seconds);
    own.threads.check = [&] {
      if (deadline.is_over()) throw Failure{deadline.passed()};
    };
    if (place.communicator.rank() == 1) std::this_thread::sleep_for(600ms);
    sum(place.communicator, own, {0, 1});
    return {};
  };
  CHECK(run_ranks(2, [&](RankPlace& p) { return late(p, 60); }));
  const auto status = run_ranks(2, [&](RankPlace& p) { return late(p, 0.1); });
  REQUIRE(!status);
  CHECK(status.error().kind == ErrorKind::kLimit);
}

// What a failing rank brought must not be read once it is gone: under the
// address sanitizer this is seen.
TEST_CASE("ranks that fail while others read") {
  for (int i = 0; i < 30; ++i) {
    const auto status = run_ranks(4, [&](RankPlace& place) -> Status {
      Communicator& c = place.communicator;
      try {
        Own own;
        const auto others = c.rank() < 2
                                ? std::vector<std::int64_t>{0, 1, 2}
                                : std::vector<std::int64_t>{0, 1, 2, 3};
        if (c.rank() == i % 4) std::this_thread::sleep_for(1ms);
        if (c.rank() == 3) return Diagnostic{.what = "no"};
        sum(c, own, others, 100'000);
      } catch (const Failure&) {
        // Somebody who tries again finds the run over.
        Own own;
        sum(c, own, {0, 1, 2}, 100'000);
      }
      return {};
    });
    REQUIRE(!status);
  }
}

TEST_CASE("invalid groups, and axes that are not divided") {
  const auto error = [](std::vector<std::int64_t> group, std::int64_t rows) {
    const auto status = run_ranks(2, [&](RankPlace& place) -> Status {
      Own own;
      place.communicator.reduce_scatter(group, own.floats({rows}, 0, 1), 0,
                                        own.state);
      return {};
    });
    REQUIRE(!status);
    return status.error().what;
  };
  CHECK(error({0, 1}, 3) ==
        "the ranks do not divide the axis that is "
        "scattered");
  CHECK_FALSE(error({0, 5}, 2).empty());
  CHECK_FALSE(error({0, 0, 1}, 3).empty());
  CHECK_FALSE(error({}, 2).empty());
}

}  // namespace
}  // namespace ruleengine::runtime
