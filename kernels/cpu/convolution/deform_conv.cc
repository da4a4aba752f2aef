// Convolutions with something more: DeformConv, whose taps are moved by an
// input, and CausalConvWithState, which continues a sequence.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/image/image.h"

namespace ruleengine::kernels {
namespace {

// The elements around a place between elements. What lies outside, or has no
// weight, does not count.
AxisTaps corners(double at, std::int64_t size) {
  const double low = std::floor(at), part = at - low;
  // Also for NaN.
  if (!(low >= -1 && low < static_cast<double>(size))) return {};
  const auto place = [&](double i, double weight) {
    const bool counts = i >= 0 && i < static_cast<double>(size) && weight != 0;
    return counts ? static_cast<std::int64_t>(i) : -1;
  };
  return {.count = 2,
          .places = {place(low, 1 - part), place(low + 1, part)},
          .weights = {1 - part, part}};
}

struct DeformJob {
  const ConvJob& conv;
  const Columns& columns;
  const Tensor& offset;
  const Tensor* mask;
  std::int64_t offset_groups;
};

// The columns of windows [begin, end) of image `n`, all channels.
template <typename T>
void deformed_columns(const DeformJob& job, std::int64_t n, std::int64_t begin,
                      std::int64_t end, T* columns) {
  const std::int64_t taps = job.columns.taps(), count = job.columns.count();
  const Tensor& x = job.conv.x;
  const Windows& windows = job.conv.windows;
  const std::int64_t each = x.dim(1) / job.offset_groups;
  const std::size_t rank = windows.size();
  const auto axes = static_cast<std::int64_t>(rank);
  std::vector<double> at(rank);
  WeightedPlaces around;
  for (std::int64_t g = 0; g < job.offset_groups; ++g) {
    const std::int64_t block = (n * job.offset_groups + g) * taps;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t rest_tap = tap, rest = i;
        for (std::size_t k = rank; k-- > 0;) {
          const Window& w = windows[k];
          const auto row = (block + tap) * axes + static_cast<std::int64_t>(k);
          at[k] = static_cast<double>(w.start(rest % w.out) +
                                      rest_tap % w.kernel * w.dilation) +
                  static_cast<double>(job.offset.data<T>()[row * count + i]);
          rest /= w.out;
          rest_tap /= w.kernel;
        }
        around.start();
        for (std::size_t k = 0; k < rank; ++k) {
          around.split(corners(at[k], windows[k].in), windows[k].in);
        }
        const double scale =
            job.mask == nullptr
                ? 1.0
                : static_cast<double>(
                      job.mask->data<T>()[(block + tap) * count + i]);
        for (std::int64_t ch = g * each; ch < (g + 1) * each; ++ch) {
          const T* image =
              x.data<T>() + (n * x.dim(1) + ch) * job.columns.image();
          columns[(ch * taps + tap) * (end - begin) + i - begin] =
              static_cast<T>(scale * around.of(image));
        }
      }
    }
  }
}

// Input `i` must be [batch, rows, windows ...].
void need_shape(Call& c, std::size_t i, const Tensor& x, std::int64_t rows,
                const Windows& windows) {
  const Dims dims = dims_of(x.dim(0), rows, windows);
  c.expect_shape(i, dims, x.dtype());
}

template <typename T>
void deform(Call& c, const DeformJob& job, Tensor& y) {
  const ConvJob& conv = job.conv;
  const Columns& columns = job.columns;
  const std::int64_t groups = conv.channels.groups;
  const std::int64_t rows = conv.channels.in * columns.taps();
  columns.for_tiles(
      conv.x.dim(0), rows * groups,
      [&](std::int64_t n, std::int64_t begin, std::int64_t end) {
        const std::int64_t width = end - begin;
        Tensor block = c.allocate(kTypeOf<T>, Dims{groups * rows, width});
        deformed_columns(job, n, begin, end, block.mutable_data<T>());
        for (std::int64_t g = 0; g < groups; ++g) {
          auto product = conv.start<T>(columns, n * groups + g, begin, end, y);
          product.b = {block.data<T>() + g * rows * width, width};
          gemm<T>(c.threads(), product);
        }
      });
}

// What CausalConvWithState has before the input and the input, one channel.
template <typename T>
struct Sequence {
  const T* past;  // nullptr: zeros
  const T* now;
  std::int64_t before;
  T operator[](std::int64_t i) const {
    if (i >= before) return now[i - before];
    return past == nullptr ? T(0) : past[i];
  }
};

void deformed_conv(Call& c, const ConvRule& rule, std::int64_t groups) {
  const Tensor& offset = c.input(2);
  const ConvJob conv = ConvJob::of(c, rule, 3);
  const Tensor& x = conv.x;
  if (groups < 1 || x.dim(1) % groups != 0) {
    c.wrong_attribute("offset_group",
                      "a divisor of " + std::to_string(x.dim(1)));
  }
  const Columns columns(conv.windows, c.threads());
  const std::int64_t taps = groups * columns.taps();
  need_shape(c, 2, x, taps * std::ssize(conv.windows), conv.windows);
  const Tensor* mask = c.has_input(4) ? &c.input(4) : nullptr;
  if (mask != nullptr) need_shape(c, 4, x, taps, conv.windows);
  const Dims dims = dims_of(x.dim(0), conv.out(), conv.windows);
  Tensor& y = c.output(0, x.dtype(), dims);
  if (y.count() == 0) return;
  const DeformJob job{conv, columns, offset, mask, groups};
  dispatch(Floats(), x.dtype(), [&]<typename T>() { deform<T>(c, job, y); });
}

void causal_conv(Call& c, bool is_silu) {
  const Tensor& x = c.expect_rank(0, 3);
  const std::int64_t channels = x.dim(1), length = x.dim(2);
  const Tensor& weights = c.expect_shape(1, Dims{channels, 1, -1}, x.dtype());
  if (weights.dim(2) < 1) c.wrong_shape(1, "a last axis of 1 or more");
  const Tensor* bias = bias_of(c, 2, x, channels);
  const std::int64_t taps = weights.dim(2), before = taps - 1;
  const Dims state{x.dim(0), channels, before};
  const Tensor* past =
      c.has_input(3) ? &c.expect_shape(3, state, x.dtype()) : nullptr;
  Tensor& y = c.output(0, x.dtype(), x.dims());
  Tensor next = c.allocate(x.dtype(), state);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    const auto piece = [&](std::int64_t i, std::int64_t) {
      const Sequence<T> all{
          past == nullptr ? nullptr : past->data<T>() + i * before,
          x.data<T>() + i * length, before};
      const T* w = weights.data<T>() + i % channels * taps;
      T* to = y.mutable_data<T>() + i * length;
      fill_bias(bias, i % channels, 1, length, 0, to);
      for (std::int64_t k = 0; k < taps; ++k) {
        const std::int64_t old = std::min(before - k, length);
        for (std::int64_t o = 0; o < old; ++o) to[o] += w[k] * all[o + k];
        for (std::int64_t o = old; o < length; ++o) {
          to[o] += w[k] * all.now[o + k - before];
        }
      }
      for (std::int64_t o = 0; is_silu && o < length; ++o) {
        to[o] /= 1 + std::exp(-to[o]);
      }
      T* kept = next.mutable_data<T>() + i * before;
      for (std::int64_t k = 0; k < before; ++k) kept[k] = all[length + k];
    };
    c.threads().for_each(x.dim(0) * channels, 1, piece);
  });
  if (c.wants(1)) c.set_output(1, std::move(next));
}

}  // namespace

Op deform_conv(const Preparation& p) {
  return [rule = ConvRule(p), groups = p.attribute_int("offset_group")](
             Call& c) { deformed_conv(c, rule, groups); };
}

Op causal_conv_with_state(const Preparation& p) {
  const std::string_view activation =
      p.choice("activation", {"none", "silu", "swish", ""});
  const bool is_silu = activation == "silu" || activation == "swish";
  return [is_silu](Call& c) { causal_conv(c, is_silu); };
}

}  // namespace ruleengine::kernels
