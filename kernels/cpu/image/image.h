// What the files of the image family share. Internal to kernels/cpu.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

Op grid_sample(const Preparation& p);
Op resize(const Preparation& p);

// Keys' cubic convolution for a place that lies `x` away.
inline double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The elements that a place along one axis is made of.
struct AxisTaps {
  int count = 0;
  std::int64_t places[4] = {};  // -1: none
  double weights[4] = {};
};

// The elements that a place of all axes is made of.
struct WeightedPlaces {
  std::vector<std::int64_t> places, next;
  std::vector<double> weights, next_weights;

  void start() {
    places.assign(1, 0);
    weights.assign(1, 1.0);
  }
  // The same along one more axis of this size.
  void split(const AxisTaps& taps, std::int64_t size) {
    next.clear();
    next_weights.clear();
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (int k = 0; k < taps.count; ++k) {
        if (taps.places[k] < 0) continue;
        next.push_back(places[i] * size + taps.places[k]);
        next_weights.push_back(weights[i] * taps.weights[k]);
      }
    }
    places.swap(next);
    weights.swap(next_weights);
  }
  template <typename T>
  double of(const T* image) const {
    double sum = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      sum += weights[i] * static_cast<double>(image[places[i]]);
    }
    return sum;
  }
};

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
