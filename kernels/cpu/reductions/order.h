// The order in which elements are sorted. Internal to kernels/cpu.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

namespace ruleengine::kernels {

// NaN sorts last, as in NumPy.
template <typename T>
bool is_less(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}
template <typename T>
bool is_less(const std::complex<T>& a, const std::complex<T>& b) {
  if (is_less(a.real(), b.real())) return true;
  return !is_less(b.real(), a.real()) && is_less(a.imag(), b.imag());
}

}  // namespace ruleengine::kernels
