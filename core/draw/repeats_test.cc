#include "core/draw/repeats.h"

#include <doctest/doctest.h>

#include <string>

namespace ruleengine::draw {
namespace {

// "start+period*count" of each run, if each item has `weight` nodes.
std::string runs(const std::vector<std::uint64_t>& items,
                 std::size_t weight = 1) {
  const std::vector<std::size_t> weights(items.size(), weight);
  std::string text;
  for (const Repeat& run : repeats(items, weights)) {
    text += std::to_string(run.start) + "+" + std::to_string(run.period) + "*" +
            std::to_string(run.count) + " ";
  }
  return text;
}

std::string runs(std::string_view letters, std::size_t weight = 1) {
  return runs(std::vector<std::uint64_t>(letters.begin(), letters.end()),
              weight);
}

TEST_CASE("a repeated sequence is found at any position") {
  CHECK(runs("abcdefabcdefabcdef") == "0+6*3 ");
  CHECK(runs("xyabcdefabcdefabcdefz") == "2+6*3 ");
  CHECK(runs("abcdefgabcdefgabcdefgabcd") == "0+7*3 ");
}

TEST_CASE("two runs in one sequence") {
  CHECK(runs("abcdefabcdefabcdefxxxuvwstruvwstruvwstr") == "0+6*3 21+6*3 ");
}

TEST_CASE("short sequences are not folded") {
  CHECK(runs("ababababab").empty());
  CHECK(runs("aaaaaaaaaaaa").empty());
  CHECK(runs("abcdefabcdef").empty());
  CHECK(runs("").empty());
}

TEST_CASE("consecutive large groups are a run") {
  CHECK(runs("abbbbc", 9) == "1+1*4 ");
  CHECK(runs("abbc", 20) == "1+1*2 ");
}

TEST_CASE("a long repeated sequence of a few kinds is found") {
  std::string stretch;
  std::uint32_t state = 1;
  for (int i = 0; i < 400; ++i) {
    state = state * 1664525 + 1013904223;
    stretch += static_cast<char>(1 + (state >> 29));
  }
  CHECK(runs(stretch + stretch + stretch) == "0+400*3 ");
}

TEST_CASE("two sequences barely worth folding, among shorter similar ones") {
  std::vector<std::uint64_t> items;
  std::uint64_t other = 1000;
  // Words that recur, each at its own distance.
  for (std::size_t distance = 20; distance < 30; ++distance) {
    for (int time = 0; time < 5; ++time) {
      for (std::size_t i = 0; i < distance; ++i) {
        items.push_back(i < 7 ? distance * 10 + i : other++);
      }
    }
  }
  const std::string at = std::to_string(items.size());
  for (int time = 0; time < 2; ++time) {
    for (std::uint64_t i = 0; i < 12; ++i) items.push_back(i);
  }
  CHECK(runs(items) == at + "+12*2 ");
}

TEST_CASE("long sequences without repetition take little time") {
  std::string letters;
  std::uint32_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525 + 1013904223;
    letters += static_cast<char>('a' + (state >> 28));
  }
  CHECK(runs(letters).size() < 100);
}

}  // namespace
}  // namespace ruleengine::draw
