// Convolution: a product of the weights with columns of the image, or directly
// where each channel has its own kernel.
#include "kernels/cpu/convolution/convolution.h"

#include "kernels/cpu/convolution/columns.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/products/gemm.h"

namespace ruleengine::kernels {
namespace {

// One channel of the output from one of the input.
template <typename T>
struct Direct {
  const Windows& windows;

  // Adds along axis `axis` and the axes after it.
  void add(std::size_t axis, const T* in, const T* weights, T* out,
           Ticker& tick) const {
    const Window& w = windows[axis];
    if (axis + 1 == windows.size()) return add_row(w, in, weights, out, tick);
    std::int64_t in_step = 1, out_step = 1, weight_step = 1;
    for (std::size_t i = axis + 1; i < windows.size(); ++i) {
      in_step *= windows[i].in;
      out_step *= windows[i].out;
      weight_step *= windows[i].kernel;
    }
    for (std::int64_t o = 0; o < w.out; ++o) {
      const Range taps = taps_inside(w, o);
      for (std::int64_t k = taps.begin; k < taps.end; ++k) {
        add(axis + 1, in + (w.start(o) + k * w.dilation) * in_step,
            weights + k * weight_step, out + o * out_step, tick);
      }
    }
  }

  static void add_row(const Window& w, const T* in, const T* weights, T* out,
                      Ticker& tick) {
    for (std::int64_t k = 0; k < w.kernel; ++k) {
      const Range range = windows_with(w, k);
      tick(range.size());
      const std::int64_t shift = k * w.dilation - w.before;
      const T weight = weights[k];
      if (w.stride == 1) {
        for (std::int64_t o = range.begin; o < range.end; ++o) {
          out[o] += weight * in[o + shift];
        }
      } else {
        for (std::int64_t o = range.begin; o < range.end; ++o) {
          out[o] += weight * in[o * w.stride + shift];
        }
      }
    }
  }
};

struct Job {
  const Tensor& x;
  const Tensor& weights;
  const Tensor* bias;
  Channels channels;
  Windows windows;
};

template <typename T>
void conv_depthwise(Call& c, const Job& job, Tensor& y) {
  const Columns sizes(job.windows, c.threads());
  const Direct<T> direct{job.windows};
  const std::int64_t out = job.channels.groups * job.channels.out;
  c.threads().for_each(
      job.x.dim(0) * out, kGrain / (sizes.count() * sizes.taps() + 1),
      [&](std::int64_t begin, std::int64_t end) {
        Ticker tick(c.threads());
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t channel = i % out;
          const std::int64_t from =
              i / out * job.channels.groups + channel / job.channels.out;
          T* to = y.mutable_data<T>() + i * sizes.count();
          fill_bias(job.bias, channel, 1, sizes.count(), to);
          direct.add(0, job.x.data<T>() + from * sizes.image(),
                     job.weights.data<T>() + channel * sizes.taps(), to, tick);
        }
      });
}

bool is_pointwise(const Windows& windows) {
  return std::ranges::all_of(windows, [](const Window& w) {
    return w.kernel == 1 && w.stride == 1 && w.before == 0 && w.after == 0;
  });
}

template <typename T>
void conv_columns(Call& c, const Job& job, Tensor& y) {
  const Columns columns(job.windows, c.threads());
  const auto [groups, in, out] = job.channels;
  const std::int64_t rows = in * columns.taps();
  const bool as_it_is = is_pointwise(job.windows);
  const std::int64_t tile = columns.tile(rows);
  const std::int64_t tiles = ceil_div(columns.count(), tile);
  c.threads().for_each(
      job.x.dim(0) * groups * tiles, 1, [&](std::int64_t begin, std::int64_t) {
        const std::int64_t image = begin / tiles, group = image % groups;
        const std::int64_t first = begin % tiles * tile;
        const std::int64_t last = std::min(first + tile, columns.count());
        const T* from = job.x.data<T>() + image * in * columns.image();
        T* to = y.mutable_data<T>() + image * out * columns.count() + first;
        for (std::int64_t i = 0; i < out; ++i) {
          fill_bias(job.bias, group * out + i, 1, last - first,
                    to + i * columns.count());
        }
        const T* weights = job.weights.data<T>() + group * out * rows;
        const auto multiply = [&](const T* b, std::int64_t stride) {
          gemm<T>(c.threads(),
                  {.m = out,
                   .n = last - first,
                   .k = rows,
                   .a = weights,
                   .lda = rows,
                   .beta = T(1),
                   .c = to,
                   .ldc = columns.count()},
                  false, b, stride);
        };
        if (as_it_is) return multiply(from + first, columns.image());
        Tensor block = c.allocate(kTypeOf<T>, Dims{rows, last - first});
        columns.gather(from, in, first, last, block.mutable_data<T>());
        multiply(block.data<T>(), last - first);
      });
}

void conv(Call& c, const ConvRule& rule) {
  const Tensor& x = c.input(0);
  const Tensor& weights = c.input(1);
  const Channels channels = channels_of(c, rule, x, weights, false);
  const std::int64_t out = channels.groups * channels.out;
  const Job job{x, weights, bias_of(c, 2, x, out), channels,
                windows_of(c, rule, x, weights)};
  const Dims dims = dims_of(x.dim(0), out, job.windows);
  Tensor& y = c.output(0, x.dtype(), dims);
  if (y.count() == 0) return;
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    if (channels.in == 1 && channels.groups > 1 && !job.windows.empty()) {
      conv_depthwise<T>(c, job, y);
    } else {
      conv_columns<T>(c, job, y);
    }
  });
}

Op conv(const Preparation& p) {
  return [rule = ConvRule(p)](Call& c) { conv(c, rule); };
}

constexpr Kernel kConvolutionKernels[] = {
    {"", "CausalConvWithState", causal_conv_with_state, Adapt::kWiden},
    {"", "Col2Im", col2im, Adapt::kWiden},
    {"", "Conv", conv, Adapt::kWiden},
    {"", "ConvTranspose", conv_transpose, Adapt::kWiden},
    {"", "DeformConv", deform_conv, Adapt::kWiden},
};

}  // namespace

Channels channels_of(Call& c, const ConvRule& rule, const Tensor& x,
                     const Tensor& weights, bool transposed) {
  c.expect_min_rank(0, 2);
  const std::size_t w = rule.weights;
  if (x.dtype() != weights.dtype()) c.expect_type(w, x.dtype());
  const std::int64_t groups = rule.groups;
  if (groups < 1 || x.dim(1) % groups != 0) {
    c.wrong_attribute("group", "a divisor of " + std::to_string(x.dim(1)));
  }
  const std::int64_t in = x.dim(1) / groups;
  Dims fits(x.rank(), -1);
  fits[transposed ? 0 : 1] = transposed ? x.dim(1) : in;
  c.expect_shape(w, fits);
  const std::int64_t split = weights.dim(0);
  if (split % groups != 0) {
    c.wrong_shape(
        w, "a first axis that is a multiple of " + std::to_string(groups));
  }
  return {groups, in, transposed ? weights.dim(1) : split / groups};
}

Windows windows_of(Call& c, const ConvRule& rule, const Tensor& x,
                   const Tensor& weights) {
  return windows_of(c, rule.windows, x.dims(),
                    kernel_of_weights(c, rule.windows, weights.dims()));
}

const Tensor* bias_of(Call& c, std::size_t i, const Tensor& x,
                      std::int64_t channels) {
  if (!c.has_input(i)) return nullptr;
  return &c.expect_count(i, channels, x.dtype());
}

const KernelRows kConvolutionRows = kConvolutionKernels;

}  // namespace ruleengine::kernels
