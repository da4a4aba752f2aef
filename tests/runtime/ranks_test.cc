// Ranks as threads: what the collectives give, what they send, and how a run
// ends where a rank fails, stalls or calls something else.
#include <doctest/doctest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "runtime/communicator.h"
#include "runtime/failure.h"
#include "runtime/kernel.h"
#include "runtime/rank_threads.h"

namespace ruleengine::runtime {
namespace {

using namespace std::chrono_literals;

// What a rank needs to call an operation.
struct Own {
  Threads threads{1};
  RunState state{.memory = Memory::create(), .threads = &threads};

  Tensor floats(std::vector<std::int64_t> dims, float first, float step) {
    const Shape shape(dims.data(), dims.size());
    Tensor out(ir::DataType::kFloat, shape,
               state.memory->allocate(
                   bytes_of(ir::DataType::kFloat, count_of(shape))));
    out.mark_own();
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
      c.reset_sent();
      CHECK(c.sent().empty());
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

TEST_CASE("a rank that stalls, leaves, or calls another op") {
  const auto error = [](auto of_rank_1, std::chrono::milliseconds patience) {
    const auto status = run_ranks(
        2,
        [&](RankPlace& place) -> Status {
          Own own;
          if (place.communicator.rank() == 1) {
            of_rank_1(place, own);
          } else {
            place.communicator.all_reduce(all_of(2), own.floats({4}, 0, 1),
                                          own.state);
          }
          return {};
        },
        patience);
    REQUIRE(!status);
    return status.error().what;
  };
  CHECK(error([](RankPlace&, Own&) { std::this_thread::sleep_for(1500ms); },
              500ms) == "rank 1 does not answer");
  CHECK(error([](RankPlace&, Own&) {}, 4s) == "rank 1 ended before the op");
  CHECK(error(
            [](RankPlace& place, Own& own) {
              place.communicator.all_gather(all_of(2), own.floats({4}, 0, 1), 0,
                                            own.state);
            },
            4s) == "ranks called different ops, or with different sizes");
  CHECK(error(
            [](RankPlace& place, Own& own) {
              place.communicator.all_reduce(all_of(2), own.floats({6}, 0, 1),
                                            own.state);
            },
            4s) == "ranks called different ops, or with different sizes");
}

TEST_CASE("a rank that works for long is waited for") {
  const auto status = run_ranks(
      2,
      [](RankPlace& place) -> Status {
        Own own;
        if (place.communicator.rank() == 1) {
          for (int i = 0; i < 60; ++i) {
            std::this_thread::sleep_for(20ms);
            place.beat();
          }
        }
        place.communicator.all_reduce(all_of(2), own.floats({4}, 0, 1),
                                      own.state);
        return {};
      },
      400ms);
  CHECK(status);
}

TEST_CASE("groups that are none, and axes that are not divided") {
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
