#include "kernels/cuda/attention/chip.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <string>

namespace ruleengine::kernels::cuda {
namespace {

TEST_CASE("a chip in the words of cuDNN") {
  const std::string json = Chip{.name = "NVIDIA \"H\""}.json();
  CHECK(json.find("\"deviceName\":\"NVIDIA \\\"H\\\"\"") != std::string::npos);
  CHECK(json.find("\"maxBlockSize\":[1024,1024,64]") != std::string::npos);
}

TEST_CASE("plans are for equal chips in any place") {
  std::set<std::string> keys = {Chip{}.key(), Chip{.name = "other"}.key()};
  std::size_t equal = 0;
  for (const ChipNumber& each : kChipNumbers) {
    Chip chip;
    ++(chip.*each.field);
    if (!keys.insert(chip.key()).second) ++equal;
  }
  for (const ChipSizes& each : kChipSizes) {
    Chip chip;
    ++(chip.*each.field)[2];
    CHECK(keys.insert(chip.key()).second);
  }
  CHECK(equal == 2);  // the number, and the slot
}

}  // namespace
}  // namespace ruleengine::kernels::cuda
