// Images: Resize and its kin, and sampling at given places.
#include "kernels/cpu/image/image.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

// One sample along an axis: between two elements.
struct Sample {
  std::int64_t low = -1, high = 0;  // low of -1: outside
  double low_weight = 0, high_weight = 0;
};

// Samples of all bins of a region along one axis.
struct BinSamples {
  std::int64_t grid = 0;
  std::vector<Sample> all;

  BinSamples(double start, double length, std::int64_t bins, std::int64_t ratio,
             std::int64_t size) {
    const double bin = length / static_cast<double>(bins);
    const double wanted =
        ratio > 0 ? static_cast<double>(ratio) : std::ceil(bin);
    if (!(wanted * static_cast<double>(bins) < 1e7)) {
      fail("a region has too many samples", "fewer than 1e7 along an axis",
           std::to_string(wanted * static_cast<double>(bins)));
    }
    grid = std::max<std::int64_t>(0, static_cast<std::int64_t>(wanted));
    for (std::int64_t i = 0; i < bins * grid; ++i) {
      const auto b = static_cast<double>(i / grid);
      const double part = (static_cast<double>(i % grid) + 0.5) * bin /
                          static_cast<double>(grid);
      all.push_back(sample(start + b * bin + part, size));
    }
  }
  static Sample sample(double at, std::int64_t size) {
    if (!(at >= -1 && at <= static_cast<double>(size))) return {};
    at = std::max(at, 0.0);
    const auto low = static_cast<std::int64_t>(at);
    if (low >= size - 1) return {size - 1, size - 1, 1, 0};
    const double part = at - static_cast<double>(low);
    return {low, low + 1, 1 - part, part};
  }
};

template <typename T>
double pool_bin(const T* in, std::int64_t width, const Sample* ys,
                std::int64_t rows, const Sample* xs, std::int64_t columns,
                bool is_max, Ticker& tick) {
  double out = 0;
  bool is_first = true;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < columns; ++k) {
      tick();
      const Sample &y = ys[i], &x = xs[k];
      double value[4] = {};
      if (y.low >= 0 && x.low >= 0) {
        const T *above = in + y.low * width, *below = in + y.high * width;
        value[0] = y.low_weight * x.low_weight * above[x.low];
        value[1] = y.low_weight * x.high_weight * above[x.high];
        value[2] = y.high_weight * x.low_weight * below[x.low];
        value[3] = y.high_weight * x.high_weight * below[x.high];
      }
      if (is_max) {
        const double most = *std::max_element(value, value + 4);
        out = is_first ? most : std::max(out, most);
        is_first = false;
      } else {
        out += (value[0] + value[1]) + (value[2] + value[3]);
      }
    }
  }
  if (is_max) return out;
  return out / static_cast<double>(std::max<std::int64_t>(1, rows * columns));
}

struct RoiRule {
  std::int64_t height, width, ratio;
  double scale;
  bool half_pixel, is_max;
};

RoiRule roi_rule(const Preparation& p) {
  const RoiRule rule{
      .height = p.attribute_int("output_height"),
      .width = p.attribute_int("output_width"),
      .ratio = p.attribute_int("sampling_ratio"),
      .scale = p.attribute_float("spatial_scale"),
      .half_pixel =
          p.attribute_string("coordinate_transformation_mode") == "half_pixel",
      .is_max = p.choice("mode", {"avg", "max"}) == "max"};
  if (rule.height < 1) p.wrong_attribute("output_height", "1 or more");
  if (rule.width < 1) p.wrong_attribute("output_width", "1 or more");
  if (rule.ratio < 0) p.wrong_attribute("sampling_ratio", "0 or more");
  return rule;
}

// All channels of one region.
template <typename T>
void align_region(const RoiRule& rule, const Tensor& x, const T* roi,
                  std::int64_t batch, T* out, Ticker tick) {
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const double shift = rule.half_pixel ? 0.5 : 0;
  double at[4];
  for (int i = 0; i < 4; ++i) {
    at[i] = static_cast<double>(roi[i]) * rule.scale - shift;
  }
  double across = at[2] - at[0], down = at[3] - at[1];
  if (!rule.half_pixel) {
    across = std::max(across, 1.0);
    down = std::max(down, 1.0);
  }
  const BinSamples ys(at[1], down, rule.height, rule.ratio, height);
  const BinSamples xs(at[0], across, rule.width, rule.ratio, width);
  for (std::int64_t ch = 0; ch < channels; ++ch) {
    const T* in = x.data<T>() + (batch * channels + ch) * height * width;
    for (std::int64_t h = 0; h < rule.height; ++h) {
      for (std::int64_t w = 0; w < rule.width; ++w) {
        *out++ = static_cast<T>(pool_bin(in, width, ys.all.data() + h * ys.grid,
                                         ys.grid, xs.all.data() + w * xs.grid,
                                         xs.grid, rule.is_max, tick));
      }
    }
  }
}

void roi_align(Call& c, const RoiRule& rule) {
  const Tensor& x = c.expect_rank(0, 4);
  const Ints batches = ints_up_to(c, 2, x.dim(0) - 1);
  const auto count = std::ssize(batches);
  const Tensor& rois = c.expect_shape(1, Dims{count, 4}, x.dtype());
  Tensor& y =
      c.output(0, x.dtype(), Dims{count, x.dim(1), rule.height, rule.width});
  if (y.count() == 0) return;
  if (x.count() == 0) c.wrong_shape(0, "1 element or more");
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    c.threads().for_each(count, 1, [&](std::int64_t i, std::int64_t) {
      align_region(rule, x, rois.data<T>() + i * 4, batches[index_of(i)],
                   y.mutable_data<T>() + y.count() / count * i,
                   Ticker(c.threads()));
    });
  });
}

}  // namespace

const KernelRows kImageRows = {
    {"", "GridSample", grid_sample, Adapt::kWiden},
    {"", "Resize", resize, Adapt::kWiden},
    {"", "RoiAlign", keeping<roi_align, roi_rule>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
