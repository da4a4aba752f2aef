#include "kernels/cpu/image/resample.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/image/image.h"

namespace ruleengine::kernels {
namespace {

// So that a place fits in a whole number.
double bounded(double at) {
  constexpr double kMost = 1e15;
  return std::isnan(at) ? 0 : std::clamp(at, -kMost, kMost);
}

// For one element.
constexpr std::int64_t kMostTaps = std::int64_t{1} << 26;

double crop_source(const ResizeAxis& axis, double at) {
  const double last = static_cast<double>(axis.in - 1);
  const double length = axis.scale * static_cast<double>(axis.in);
  const double part = length == 1 ? 0.5 : at / (length - 1);
  return (part * (axis.end - axis.begin) + axis.begin) * last;
}

// The kernel of linear (radius 1) or cubic (radius 2) interpolation.
double kernel_at(const ResizeRule& rule, double x) {
  if (rule.mode == ResizeMode::kCubic) return cubic_weight(x, rule.cubic_a);
  return std::max(0.0, 1 - std::abs(x));
}

void normalize(double* weights, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += weights[i];
  if (sum == 0) return;
  for (std::int64_t i = 0; i < count; ++i) weights[i] /= sum;
}

// `before`: taps before the element on the left of the place.
void fill_weights(const ResizeRule& rule, double part, double scale,
                  std::int64_t before, std::int64_t taps, double* weights) {
  for (std::int64_t i = 0; i < taps; ++i) {
    const double distance = static_cast<double>(i - before) - part;
    weights[i] = kernel_at(rule, distance * scale);
  }
  if (rule.antialias) normalize(weights, taps);
}

// Where an element of the result lies in the input.
double source_of(const ResizeRule& rule, const ResizeAxis& axis,
                 std::int64_t index) {
  const auto at = static_cast<double>(index), in = static_cast<double>(axis.in);
  const double length = axis.scale * in;
  const double half = (at + 0.5) / axis.scale - 0.5;
  switch (rule.coordinates) {
    case Coordinates::kHalfPixel:
      return half;
    case Coordinates::kHalfPixelSymmetric:
      return half + in / 2 * (1 - static_cast<double>(axis.out) / length);
    case Coordinates::kPytorchHalfPixel:
      return length == 1 ? -0.5 : half;
    case Coordinates::kAlignCorners:
      return length == 1 ? 0 : at * (in - 1) / (length - 1);
    case Coordinates::kAsymmetric:
      return at / axis.scale;
    case Coordinates::kCrop:
      return crop_source(axis, at);
    case Coordinates::kHalfPixelForNearest:
      break;
  }
  return (at + 0.5) / axis.scale;
}

bool is_outside(const ResizeRule& rule, const ResizeAxis& axis, double source) {
  return rule.coordinates == Coordinates::kCrop &&
         !(source >= 0 && source <= static_cast<double>(axis.in - 1));
}

}  // namespace

Tensor nearest_places(const Call& c, const ResizeRule& rule,
                      const ResizeAxis& axis) {
  Tensor out = c.allocate(DataType::kInt64, Dims{axis.out});
  auto* places = out.mutable_data<std::int64_t>();
  Ticker tick(c.threads());
  const NearestMode mode = rule.nearest;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    tick(4);
    const double source = source_of(rule, axis, i);
    if (is_outside(rule, axis, source)) {
      places[i] = -1;
      continue;
    }
    const double low = std::floor(source), part = source - low;
    bool up = part > 0 && mode != NearestMode::kFloor;
    if (mode == NearestMode::kPreferFloor) up = part > 0.5;
    if (mode == NearestMode::kPreferCeil) up = part >= 0.5;
    places[i] = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(bounded(low)) + (up ? 1 : 0), 0, axis.in - 1);
  }
  return out;
}

ResizeWeights resize_weights(const Call& c, const ResizeRule& rule,
                             const ResizeAxis& axis) {
  const double scale = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double radius = rule.mode == ResizeMode::kLinear ? 1 : 2;
  const auto before =
      static_cast<std::int64_t>(bounded(std::ceil(radius / scale))) - 1;
  ResizeWeights out;
  out.taps = 2 * before + 2;
  if (out.taps > kMostTaps) {
    fail("a scale is too small for its axis",
         "at most " + std::to_string(kMostTaps) + " elements read for each",
         std::to_string(out.taps) + " for scale " + std::to_string(scale));
  }
  const Dims dims{axis.out, out.taps};
  out.places = c.allocate(DataType::kInt64, dims);
  out.weights = c.allocate(DataType::kDouble, dims);
  std::fill_n(out.weights.mutable_data<double>(), out.weights.count(), 0.0);
  for (std::int64_t i = 0; i < axis.out; ++i) {
    auto* places = out.places.mutable_data<std::int64_t>() + i * out.taps;
    double* weights = out.weights.mutable_data<double>() + i * out.taps;
    const double source = source_of(rule, axis, i);
    if (is_outside(rule, axis, source)) {
      std::fill_n(places, out.taps, std::int64_t{-1});
      continue;
    }
    const double low = std::floor(bounded(source));
    fill_weights(rule, bounded(source) - low, scale, before, out.taps, weights);
    const std::int64_t first = static_cast<std::int64_t>(low) - before;
    for (std::int64_t k = 0; k < out.taps; ++k) {
      const bool inside = first + k >= 0 && first + k < axis.in;
      if (rule.exclude_outside && !inside) weights[k] = 0;
      places[k] = std::clamp<std::int64_t>(first + k, 0, axis.in - 1);
    }
    if (rule.exclude_outside) normalize(weights, out.taps);
  }
  return out;
}

}  // namespace ruleengine::kernels
