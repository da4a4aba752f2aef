// What the op Pad says, whatever computes it. Internal to kernels.
#pragma once

#include <vector>

#include "kernels/pad_source.h"
#include "kernels/shapes.h"

namespace ruleengine::kernels {

// How many elements are added before and after an axis; a negative number
// removes elements.
struct AxisPads {
  std::int64_t before = 0, after = 0;

  bool is_none() const { return before == 0 && after == 0; }
};
using Pads = std::vector<AxisPads>;

PadMode pad_mode_of(const Preparation& p);
// By axis of input 0, from inputs 1 and 3, which are on the host.
Pads pads_of(const Call& c);
// Size of an axis with its pads.
std::int64_t padded_size(std::int64_t size, const AxisPads& pads);
Dims padded_shape(Shape dims, const Pads& pads);
// Fails where elements are to be repeated and there are none.
AxisSource source_of(const Call& c, std::int64_t size, const AxisPads& pads,
                     PadMode mode);

}  // namespace ruleengine::kernels
