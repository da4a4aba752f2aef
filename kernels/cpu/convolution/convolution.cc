// Convolution: a product of the weights with columns of the image, or directly
// where each channel has its own kernel.
#include "kernels/cpu/convolution/convolution.h"

#include "kernels/cpu/convolution/rows.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

// Windows of a row that are computed together, in registers.
constexpr std::int64_t kTogether = 32;

// A row of windows, each channel with its own kernel.
template <typename T>
struct DirectRow {
  const Window& w;
  const RowTaps& taps;
  const T* image;
  const T* weights;  // of the channel
  T bias;
  T* out;

  // Windows [begin, end), whose taps lie inside. The usual strides are
  // constants, so that the loops become vector code.
  RULEENGINE_INLINE void inner(std::int64_t begin, std::int64_t end,
                               Ticker& tick) const {
    if (end - begin < kTogether) return outer(begin, end);
    for (std::int64_t o = begin; o < end; o += kTogether) {
      // The last ones overlap those before.
      const std::int64_t at = std::min(o, end - kTogether);
      tick(kTogether);
      if (w.stride == 1) {
        block(at, std::integral_constant<std::int64_t, 1>());
      } else if (w.stride == 2) {
        block(at, std::integral_constant<std::int64_t, 2>());
      } else {
        block(at, w.stride);
      }
    }
  }

  template <typename Stride>
  RULEENGINE_INLINE void block(std::int64_t o, Stride stride) const {
    const std::int64_t start = w.start(o), kernel = w.kernel;
    const std::int64_t dilation = w.dilation;
    T sums[kTogether];
    for (std::int64_t j = 0; j < kTogether; ++j) sums[j] = bias;
    for (std::size_t i = 0; i < taps.places.size(); ++i) {
      const T* from = image + taps.places[i] + start;
      const T* by = weights + taps.taps[i] * kernel;
      for (std::int64_t k = 0; k < kernel; ++k, from += dilation) {
        const T weight = by[k];
        for (std::int64_t j = 0; j < kTogether; ++j) {
          sums[j] += weight * from[j * stride];
        }
      }
    }
    for (std::int64_t j = 0; j < kTogether; ++j) out[o + j] = sums[j];
  }

  // Windows [begin, end).
  RULEENGINE_INLINE void outer(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t o = begin; o < end; ++o) {
      const Range range = taps_inside(w, o);
      T sum = bias;
      for (std::size_t i = 0; i < taps.places.size(); ++i) {
        const T* from = image + taps.places[i] + w.start(o);
        const T* by = weights + taps.taps[i] * w.kernel;
        for (std::int64_t k = range.begin; k < range.end; ++k) {
          sum += by[k] * from[k * w.dilation];
        }
      }
      out[o] = sum;
    }
  }
};

template <typename T>
void conv_depthwise(Call& c, const ConvJob& job, Tensor& y) {
  const Plane plane(job.windows);
  const Window& w = plane.last();
  const std::int64_t out = job.out();
  const std::int64_t taps = Columns(job.windows, c.threads()).taps();
  // Windows whose taps all lie inside, along the last axis.
  const std::int64_t begin = windows_with(w, 0).begin;
  const std::int64_t end = std::max(begin, windows_with(w, w.kernel - 1).end);
  for_rows(c, plane, job.x.dim(0) * out, 0,
           [&](std::int64_t i, std::int64_t row, const RowTaps& reads,
               std::byte*, Ticker& tick) {
             const std::int64_t channel = i % out;
             const std::int64_t from =
                 i / out * job.channels.groups + channel / job.channels.out;
             const DirectRow<T> one{
                 w,
                 reads,
                 job.x.data<T>() + from * plane.in,
                 job.weights.data<T>() + channel * taps,
                 job.bias == nullptr ? T(0) : job.bias->data<T>()[channel],
                 y.mutable_data<T>() + i * plane.out + row * w.out};
             tick(w.kernel * std::ssize(reads.places));
             runtime::for_vectors([&]() RULEENGINE_INLINE {
               one.outer(0, begin);
               one.inner(begin, end, tick);
               one.outer(end, w.out);
             });
           });
}

bool is_pointwise(const Windows& windows) {
  return std::ranges::all_of(windows, [](const Window& w) {
    return w.kernel == 1 && w.stride == 1 && w.before == 0 && w.after == 0;
  });
}

template <typename T>
void conv_columns(Call& c, const ConvJob& job, Tensor& y) {
  const Columns columns(job.windows, c.threads());
  const std::int64_t groups = job.channels.groups, in = job.channels.in;
  const std::int64_t rows = in * columns.taps();
  const bool as_it_is = is_pointwise(job.windows);
  columns.for_tiles(
      job.x.dim(0) * groups, rows,
      [&](std::int64_t image, std::int64_t begin, std::int64_t end) {
        const T* from = job.x.data<T>() + image * in * columns.image();
        auto product = job.start<T>(columns, image, begin, end, y);
        if (as_it_is) {
          product.b = {from + begin, columns.image()};
          return gemm<T>(c.threads(), product);
        }
        const PanelLayout<T> layout{rows, end - begin};
        Tensor block = c.allocate(kTypeOf<T>, Dims{layout.count()});
        T* panels = block.mutable_data<T>();
        columns.gather(from, in, begin, end, T(0), layout, panels);
        layout.clear_missing(panels);
        gemm_packed<T>(c.threads(), product, panels);
      });
}

void conv(Call& c, const ConvRule& rule) {
  const ConvJob job = ConvJob::of(c, rule, 2);
  const Dims dims = dims_of(job.x.dim(0), job.out(), job.windows);
  Tensor& y = c.output(0, job.x.dtype(), dims);
  if (y.count() == 0) return;
  dispatch(Floats(), job.x.dtype(), [&]<typename T>() {
    const Channels& channels = job.channels;
    if (channels.in == 1 && channels.groups > 1 && !job.windows.empty()) {
      conv_depthwise<T>(c, job, y);
    } else {
      conv_columns<T>(c, job, y);
    }
  });
}

constexpr Kernel kConvolutionKernels[] = {
    {"", "CausalConvWithState", causal_conv_with_state, Adapt::kWiden},
    {"", "Col2Im", col2im, Adapt::kWiden},
    {"", "Conv", keeping<conv, kept<ConvRule>>, Adapt::kWiden},
    {"", "ConvTranspose", conv_transpose, Adapt::kWiden},
    {"", "DeformConv", deform_conv, Adapt::kWiden},
};

}  // namespace

Channels channels_of(Call& c, const ConvRule& rule, const Tensor& x,
                     const Tensor& weights, bool transposed) {
  c.expect_min_rank(0, 2);
  const std::size_t w = rule.weights;
  // Integers may differ in sign.
  if (!ir::is_integer(x.dtype()) || !ir::is_integer(weights.dtype())) {
    c.expect_type(w, x.dtype());
  }
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

ConvJob ConvJob::of(Call& c, const ConvRule& rule, std::size_t bias) {
  const Tensor &x = c.input(0), &weights = c.input(1);
  const Channels channels = channels_of(c, rule, x, weights, false);
  return {x, weights, channels,
          bias_of(c, bias, x, channels.groups * channels.out),
          windows_of(c, rule, x, weights)};
}

const KernelRows kConvolutionRows = kConvolutionKernels;

}  // namespace ruleengine::kernels
