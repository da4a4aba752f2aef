// How one axis of a tensor is resized: which elements an element of the result
// is made of. Internal to kernels/cpu.
#pragma once

#include <optional>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

enum class ResizeMode : std::uint8_t { kNearest, kLinear, kCubic };

enum class NearestMode : std::uint8_t {
  kPreferFloor,
  kPreferCeil,
  kFloor,
  kCeil
};
enum class Coordinates : std::uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCrop,
  kHalfPixelForNearest,  // which only opsets 11 and 12 have
};
enum class AspectRatio : std::uint8_t { kStretch, kNotLarger, kNotSmaller };

// The attributes of Resize.
struct ResizeRule {
  explicit ResizeRule(const Preparation& p);

  ResizeMode mode;
  NearestMode nearest = NearestMode::kPreferFloor;  // where `mode` is kNearest
  Coordinates coordinates;
  AspectRatio aspect;
  double cubic_a;
  double outside;  // the value where a crop leaves the image
  bool antialias;
  bool exclude_outside;
  std::optional<Ints> axes;  // all where it is not written
};

struct ResizeAxis {
  std::int64_t in = 1, out = 1;
  double scale = 1, begin = 0, end = 1;  // a crop: begin, end

  bool is_same() const {
    return in == out && scale == 1 && begin == 0 && end == 1;
  }
};

// int64: for each element of the result the one it copies; -1 outside of a
// crop.
Tensor nearest_places(const Call& c, const ResizeRule& rule,
                      const ResizeAxis& axis);

// For each element of the result `taps` places and weights; the places are -1
// outside of a crop.
struct ResizeWeights {
  std::int64_t taps = 0;
  Tensor places;   // int64[out, taps]
  Tensor weights;  // double[out, taps]
};
ResizeWeights resize_weights(const Call& c, const ResizeRule& rule,
                             const ResizeAxis& axis);

}  // namespace ruleengine::kernels
