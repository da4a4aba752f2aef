// Rotary position embedding: pairs of elements of a head turn by the angle of
// their position. Internal to kernels/cpu.
#pragma once

#include "kernels/cpu/attention/attending.h"

namespace ruleengine::kernels {

struct Rotation : HeadLayout {
  std::int64_t turned = 0;  // the first elements of a head; even
  bool interleaved = false;
  Tensor cosines, sines;  // rows of turned / 2
  Ints positions;         // the row of these for each of batch and row
};

// Fails where something does not fit.
void check_rotation(const Rotation& r);

// `out` = the input turned; float or double.
void rotate(Call& c, const Rotation& r, const Tensor& x, Tensor& out);

}  // namespace ruleengine::kernels
