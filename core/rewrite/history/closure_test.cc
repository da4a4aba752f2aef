#include "core/rewrite/history/closure.h"

#include <doctest/doctest.h>

#include <bit>
#include <random>

namespace ruleengine::rewrite {
namespace {

struct Items {
  std::vector<std::int64_t> weights;
  std::vector<ItemNeed> needs;

  bool is_closed(std::uint32_t set) const {
    for (const auto& [item, needed] : needs) {
      if ((set >> item & 1) != 0 && (set >> needed & 1) == 0) return false;
    }
    return true;
  }
  std::int64_t weight(std::uint32_t set) const {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if ((set >> i & 1) != 0) all += weights[i];
    }
    return all;
  }
  std::uint32_t best() const {
    std::uint32_t best = 0;
    for (std::uint32_t set = 0; set < 1U << weights.size(); ++set) {
      if (!is_closed(set)) continue;
      const bool better = weight(set) > weight(best) ||
                          (weight(set) == weight(best) &&
                           std::popcount(set) < std::popcount(best));
      if (better) best = set;
    }
    return best;
  }
  std::uint32_t found() const {
    const auto closure = heaviest_closure(weights, needs, Deadline());
    REQUIRE(closure.ok());
    std::uint32_t set = 0;
    for (std::size_t i = 0; i < closure->size(); ++i) {
      if ((*closure)[i]) set |= 1U << i;
    }
    return set;
  }
};

TEST_CASE("a closure is the best of all closed sets") {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  for (int round = 0; round < 400; ++round) {
    Items items;
    const std::uint32_t count = 1 + below(10);
    for (std::uint32_t i = 0; i < count; ++i) {
      items.weights.push_back(static_cast<std::int64_t>(below(7)) - 3);
    }
    // Needs may form circles.
    for (std::uint32_t i = below(2 * count); i > 0; --i) {
      items.needs.emplace_back(below(count), below(count));
    }
    CAPTURE(round);
    CHECK(items.found() == items.best());
  }
}

TEST_CASE("a closure of nothing") { CHECK(Items().found() == 0); }

TEST_CASE("a long chain of needs") {
  Items items;
  constexpr std::uint32_t kItems = 100000;
  for (std::uint32_t i = 0; i < kItems; ++i) {
    items.weights.push_back(i % 2 == 0 ? -1 : 1);
    if (i > 0) items.needs.emplace_back(i, i - 1);
  }
  items.weights.back() = 2;
  const auto closure = heaviest_closure(items.weights, items.needs, Deadline());
  REQUIRE(closure.ok());
  CHECK(closure->back());
}

TEST_CASE("a closure checks the deadline") {
  const std::vector<std::int64_t> weights = {1, -1};
  const std::vector<ItemNeed> needs = {{0, 1}};
  const auto late = heaviest_closure(weights, needs, Deadline(0.0));
  REQUIRE(!late.ok());
  CHECK(late.error().kind == ErrorKind::kLimit);
}

}  // namespace
}  // namespace ruleengine::rewrite
