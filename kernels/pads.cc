#include "kernels/pads.h"

#include <algorithm>

#include "kernels/keeping.h"

namespace ruleengine::kernels {

PadMode pad_mode_of(const Preparation& p) {
  return choice_of<PadMode>(p, "mode",
                            {"constant", "reflect", "edge", "wrap", ""});
}

Pads pads_of(const Call& c) {
  const std::size_t rank = c.input(0).rank();
  const Ints given = c.ints(1);
  const auto axes = input_axes(c, 3, rank, rank);
  if (given.size() != 2 * axes.size()) {
    fail("wrong number of elements of 'pads'", std::to_string(2 * axes.size()),
         std::to_string(given.size()));
  }
  Pads out(rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out[axes[i]] = {given[i], given[axes.size() + i]};
  }
  return out;
}

std::int64_t padded_size(std::int64_t size, const AxisPads& pads) {
  constexpr std::int64_t kMost = std::int64_t{1} << 47;
  if (std::max(pads.before, pads.after) > kMost ||
      std::min(pads.before, pads.after) < -kMost) {
    fail("wrong value of 'pads'", "-2^47 to 2^47",
         std::to_string(pads.before) + " and " + std::to_string(pads.after));
  }
  const std::int64_t out = size + pads.before + pads.after;
  if (out < 0) {
    fail("wrong value of 'pads'",
         "at most " + std::to_string(size) + " taken from an axis of that size",
         std::to_string(pads.before) + " and " + std::to_string(pads.after));
  }
  return out;
}

Dims padded_shape(Shape dims, const Pads& pads) {
  Dims out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    out.push_back(padded_size(dims[i], pads[i]));
  }
  return out;
}

AxisSource source_of(const Call& c, std::int64_t size, const AxisPads& pads,
                     PadMode mode) {
  const AxisSource out{.before = pads.before,
                       .low = std::max<std::int64_t>(0, -pads.before),
                       .high = size - std::max<std::int64_t>(0, -pads.after)};
  const bool is_empty = out.high <= out.low;
  if (mode != PadMode::kConstant && is_empty && padded_size(size, pads) > 0) {
    c.wrong_attribute("mode",
                      "constant, since an axis has no elements to repeat");
  }
  return out;
}

}  // namespace ruleengine::kernels
