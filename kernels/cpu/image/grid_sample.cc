// GridSample: elements of an image at places between them, along any number of
// axes.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/image/image.h"
#include "kernels/keeping.h"

namespace ruleengine::kernels {
namespace {

enum class GridMode : std::uint8_t { kNearest, kLinear, kCubic };
enum class GridPadding : std::uint8_t { kZeros, kBorder, kReflection };

struct GridRule {
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
};

GridRule grid_rule(const Preparation& p) {
  GridRule rule{.align_corners = p.attribute_flag("align_corners")};
  const std::string_view mode =
      p.choice("mode", {"linear", "nearest", "cubic", "bilinear", "bicubic"});
  if (mode == "nearest") {
    rule.mode = GridMode::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    rule.mode = GridMode::kCubic;
  }
  rule.padding = choice_of<GridPadding>(p, "padding_mode",
                                        {"zeros", "border", "reflection"});
  return rule;
}

// Mirrored at the borders until it lies between them.
double reflected(double at, double low, double high) {
  const double range = high - low;
  if (at >= low && at <= high) return at;
  if (!(range > 0)) return low;
  const bool is_low = at < low;
  const double over = is_low ? low - at : at - high;
  const double turns = std::floor(over / range);
  const double rest = over - turns * range;
  const bool from_near = std::fmod(turns, 2) == 0;
  return from_near == is_low ? low + rest : high - rest;
}

std::int64_t padded_place(const GridRule& rule, double at, std::int64_t size) {
  const auto last = static_cast<double>(size - 1);
  switch (rule.padding) {
    case GridPadding::kZeros:
      return at >= 0 && at <= last ? static_cast<std::int64_t>(at) : -1;
    case GridPadding::kBorder:
      break;
    case GridPadding::kReflection:
      at = rule.align_corners ? reflected(at, 0, last)
                              : reflected(at, -0.5, last + 0.5);
      break;
  }
  return static_cast<std::int64_t>(std::clamp(at, 0.0, last));
}

template <typename G>
AxisTaps grid_taps(const GridRule& rule, G normal, std::int64_t size) {
  const auto length = static_cast<G>(size);
  double at = rule.align_corners ? (normal + 1) / G(2) * (length - 1)
                                 : ((normal + 1) * length - 1) / G(2);
  // NaN lies outside.
  at = std::isnan(at) ? -1e9 : std::clamp(at, -1e9, 1e9);
  if (rule.mode == GridMode::kNearest) at = std::nearbyint(at);
  const auto last = static_cast<double>(size - 1);
  const double low = rule.align_corners ? 0 : -0.5;
  const double high = rule.align_corners ? last : last + 0.5;
  if (at < low || at > high) {
    if (rule.padding == GridPadding::kBorder) at = std::clamp(at, 0.0, last);
    if (rule.padding == GridPadding::kReflection) {
      at = reflected(at, low, high);
    }
  }
  AxisTaps taps;
  if (rule.mode == GridMode::kNearest) {
    taps.count = 1;
    taps.places[0] = padded_place(rule, std::trunc(at), size);
    taps.weights[0] = 1;
    return taps;
  }
  const double first = std::floor(at);
  const bool is_cubic = rule.mode == GridMode::kCubic;
  taps.count = is_cubic ? 4 : 2;
  if (is_cubic) {
    for (int i = 0; i < 4; ++i) {
      taps.weights[i] = cubic_weight(at - first - (i - 1), -0.75);
    }
  } else {
    taps.weights[0] = 1 - (at - first);
    taps.weights[1] = at - first;
  }
  for (int i = 0; i < taps.count; ++i) {
    taps.places[i] = padded_place(rule, first + i - (is_cubic ? 1 : 0), size);
  }
  return taps;
}

template <typename T, typename G>
void sample(Call& c, const GridRule& rule, const Tensor& x, const Tensor& grid,
            Tensor& y) {
  const std::size_t rank = x.rank() - 2;
  const std::int64_t channels = x.dim(1),
                     image = product(x.dims(), 2, x.rank());
  const std::int64_t count = product(y.dims(), 2, y.rank());
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    WeightedPlaces places;
    for (std::int64_t i = begin; i < end; ++i) {
      const G* at = grid.data<G>() + i * static_cast<std::int64_t>(rank);
      places.start();
      for (std::size_t k = 0; k < rank; ++k) {
        // The grid has the fastest axis first.
        places.split(grid_taps(rule, at[rank - 1 - k], x.dim(k + 2)),
                     x.dim(k + 2));
      }
      const std::int64_t n = i / count, place = i % count;
      for (std::int64_t ch = 0; ch < channels; ++ch) {
        const std::int64_t plane = n * channels + ch;
        T& out = y.mutable_data<T>()[plane * count + place];
        const T* in = x.data<T>() + plane * image;
        if (rule.mode == GridMode::kNearest) {
          out = places.places.empty() ? T() : in[places.places[0]];
        } else {
          out = saturated<T>(places.of(in));
        }
      }
    }
  };
  c.threads().for_each(x.dim(0) * count, kGrain / 16 / channels, piece);
}

void sample_grid(Call& c, const GridRule& rule) {
  const Tensor& x = c.expect_rank(0, 3, 8);
  Dims fits(x.rank(), -1);
  fits[0] = x.dim(0);
  fits.back() = static_cast<std::int64_t>(x.rank()) - 2;
  const Tensor& grid = c.expect_shape(1, fits);
  Dims dims{x.dim(0), x.dim(1)};
  dims.append(grid.dims().subspan(1, grid.rank() - 2));
  Tensor& y = c.output(0, x.dtype(), dims);
  if (y.count() == 0) return;
  if (x.count() == 0) c.wrong_shape(0, "1 element or more");
  dispatch(Floats(), grid.dtype(), [&]<typename G>() {
    dispatch(NumbersAndBool(), x.dtype(),
             [&]<typename T>() { sample<T, G>(c, rule, x, grid, y); });
  });
}

}  // namespace

Op grid_sample(const Preparation& p) {
  return [rule = grid_rule(p)](Call& c) { sample_grid(c, rule); };
}

}  // namespace ruleengine::kernels
