// What RotaryEmbedding says, whatever computes it. Internal to kernels.
#pragma once

#include "kernels/shapes.h"

namespace ruleengine::kernels {

// Fails unless so many elements of a head can be turned by these angles.
inline void expect_turned(std::int64_t turned, std::int64_t size,
                          const Tensor& cosines, const Tensor& sines) {
  if (turned < 0 || turned > size || turned % 2 != 0) {
    fail("wrong size of the rotated part of a head",
         "an even number up to " + std::to_string(size),
         std::to_string(turned));
  }
  for (const Tensor* t : {&cosines, &sines}) {
    if (t->rank() == 0 || t->dim(t->rank() - 1) != turned / 2 ||
        t->dtype() != cosines.dtype() ||
        !runtime::is_same_shape(t->dims(), cosines.dims())) {
      fail("wrong type or shape of the cosines or sines",
           "the same for both, rows of " + std::to_string(turned / 2),
           t->text());
    }
  }
}

// Fails unless input `i`, rows of angles, has one for each of [batch, rows],
// each axis of which may be 1.
inline void expect_angles(const Call& c, std::size_t i, std::int64_t batch,
                          std::int64_t rows) {
  const Tensor& t = c.expect_rank(i, 3);
  const auto fits = [](std::int64_t size, std::int64_t full) {
    return size == full || size == 1;
  };
  if (fits(t.dim(0), batch) && fits(t.dim(1), rows)) return;
  c.wrong_shape(i, "axes 0 and 1 of " + std::to_string(batch) + " and " +
                       std::to_string(rows) + ", or 1");
}

}  // namespace ruleengine::kernels
