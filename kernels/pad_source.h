// Where the elements of a padded axis come from. Code for GPUs includes it, so
// it has nothing but arithmetic. Internal to kernels.
#pragma once

#include <cstdint>

namespace ruleengine::kernels {

enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };

struct AxisSource {
  std::int64_t before = 0;  // elements that are added; negative: taken away
  // The elements that are left, which are reflected or repeated.
  std::int64_t low = 0, high = 0;

  // Which element of the axis comes to a place; -1: the constant.
  constexpr std::int64_t of(std::int64_t at, PadMode mode) const {
    const std::int64_t from = at - before, count = high - low;
    if (from >= low && from < high) return from;
    if (mode == PadMode::kConstant) return -1;
    if (mode == PadMode::kEdge) return from < low ? low : high - 1;
    if (mode == PadMode::kWrap) return low + wrapped(from - low, count);
    if (count == 1) return low;
    const std::int64_t turn = wrapped(from - low, 2 * (count - 1));
    return low + (turn < count ? turn : 2 * (count - 1) - turn);
  }

 private:
  static constexpr std::int64_t wrapped(std::int64_t i, std::int64_t period) {
    return (i % period + period) % period;
  }
};

}  // namespace ruleengine::kernels
