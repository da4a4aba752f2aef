#include "core/draw/repeats.h"

#include <doctest/doctest.h>

#include <string>

namespace ruleengine::draw {
namespace {

// "start+period*count" of each run of letters, one node behind each.
std::string runs(std::string_view letters, std::size_t weight = 1) {
  const std::vector<std::uint64_t> items(letters.begin(), letters.end());
  const std::vector<std::size_t> weights(letters.size(), weight);
  std::string text;
  for (const Run& run : repeats(items, weights)) {
    text += std::to_string(run.start) + "+" + std::to_string(run.period) + "*" +
            std::to_string(run.count) + " ";
  }
  return text;
}

TEST_CASE("a stretch that stands several times is found, wherever") {
  CHECK(runs("abcdefabcdefabcdef") == "0+6*3 ");
  CHECK(runs("xyabcdefabcdefabcdefz") == "2+6*3 ");
  CHECK(runs("abcdefgabcdefgabcdefgabcd") == "0+7*3 ");
}

TEST_CASE("two runs in one sequence") {
  CHECK(runs("abcdefabcdefabcdefxxxuvwstruvwstruvwstr") == "0+6*3 21+6*3 ");
}

TEST_CASE("what is short stays as it is") {
  CHECK(runs("ababababab").empty());
  CHECK(runs("aaaaaaaaaaaa").empty());
  CHECK(runs("abcdefabcdef").empty());
  CHECK(runs("").empty());
}

TEST_CASE("large groups one behind the other are a run") {
  CHECK(runs("abbbbc", 9) == "1+1*4 ");
  CHECK(runs("abbc", 20) == "1+1*2 ");
}

TEST_CASE("long sequences without any repetition take no time worth telling") {
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
