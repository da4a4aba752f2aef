// How one axis of a tensor is resized: which elements an element of the result
// is made of. Internal to kernels/cpu.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

enum class ResizeMode : std::uint8_t { kNearest, kLinear, kCubic };

// The attributes of Resize.
struct ResizeRule {
  ResizeMode mode = ResizeMode::kNearest;
  std::string nearest;
  std::string coordinates = "asymmetric";
  double cubic_a = -0.75;
  double outside = 0;  // the value where a crop leaves the image
  bool antialias = false;
  bool exclude_outside = false;
};

struct ResizeAxis {
  std::int64_t in = 1, out = 1;
  double scale = 1, begin = 0, end = 1;  // a crop: begin, end

  bool is_same() const {
    return in == out && scale == 1 && begin == 0 && end == 1;
  }
};

// Where an element of the result lies in the input.
double source_of(const ResizeRule& rule, const ResizeAxis& axis,
                 std::int64_t at);
bool is_outside(const ResizeRule& rule, const ResizeAxis& axis, double source);

// int64: for each element of the result the one it copies; -1 outside of a
// crop.
Tensor nearest_places(const KernelContext& c, const ResizeRule& rule,
                      const ResizeAxis& axis);

// For each element of the result `taps` places and weights; the places are -1
// outside of a crop.
struct ResizeWeights {
  std::int64_t taps = 0;
  Tensor places;   // int64[out, taps]
  Tensor weights;  // double[out, taps]
};
ResizeWeights resize_weights(const KernelContext& c, const ResizeRule& rule,
                             const ResizeAxis& axis);

}  // namespace ruleengine::kernels
