// What the files of the image family share. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_IMAGE_H_
#define RULEENGINE_KERNELS_CPU_IMAGE_H_

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

void affine_grid(KernelContext& c);
void grid_sample(KernelContext& c);
void resize(KernelContext& c);
void roi_align(KernelContext& c);
void upsample(KernelContext& c);

// Weights of the four elements around a place that lies `part` after the
// second: Keys' cubic convolution.
inline void cubic_weights(double part, double a, double* weights) {
  const auto near = [a](double x) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  };
  const auto far = [a](double x) {
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  };
  weights[0] = far(part + 1);
  weights[1] = near(part);
  weights[2] = near(1 - part);
  weights[3] = far(2 - part);
}

// A computed number as an element: whole numbers are rounded to even and kept
// in their range.
template <typename T>
T saturated(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    const double whole = std::nearbyint(value);
    if (!(whole >= static_cast<double>(std::numeric_limits<T>::min()))) {
      return std::isnan(value) ? T(0) : std::numeric_limits<T>::min();
    }
    // The greatest one itself may not be a double.
    if (whole >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(whole);
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_IMAGE_H_
