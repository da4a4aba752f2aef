// Functions in double, to compare kernels with.
#pragma once

#include <cmath>

namespace ruleengine::kernels::device {

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
inline double gelu_of(double x) {
  return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
}
inline double gelu_tanh_of(double x) {
  const double u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(u));
}

}  // namespace ruleengine::kernels::device
