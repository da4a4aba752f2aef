// Rotary position embedding: pairs of elements of a head turn by the angle of
// their position. Internal to kernels/cpu.
#pragma once

#include "kernels/cpu/attention/attending.h"

namespace ruleengine::kernels {

struct Rotation {
  std::int64_t batch = 0, heads = 0, rows = 0, size = 0;
  std::int64_t turned = 0;  // the first elements of a head; even
  HeadStrides at, out_at;
  bool interleaved = false;
  Tensor cosines, sines;  // rows of turned / 2
  Ints positions;         // the row for each of batch and row

  // The row for a place in the sequence of one of the batch.
  std::int64_t position(std::int64_t b, std::int64_t row) const {
    return positions[index_of(b * rows + row)];
  }
};

// Fails where something does not fit.
void check_rotation(const Rotation& r);

// `out` = the input turned; float or double.
void rotate(Call& c, const Rotation& r, const Tensor& x, Tensor& out);

}  // namespace ruleengine::kernels
