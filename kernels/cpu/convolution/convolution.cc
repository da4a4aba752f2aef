// Convolution: a product of the weights with columns of the image, or directly
// where each channel has its own kernel.
#include "kernels/cpu/convolution/convolution.h"

#include <array>

#include "kernels/cpu/convolution/phases.h"
#include "kernels/cpu/convolution/rows.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

// Taps that are summed at once, in registers: of a row, or of two.
constexpr std::int64_t kTapsOfRow = 9, kTapsOfTwo = 6;
// Planes of a piece, at least.
constexpr std::int64_t kPlanesAtOnce = 8;

template <typename T>
[[gnu::always_inline]] inline void copy_pieces(
    const std::vector<LinePiece>& pieces, const T* from, std::int64_t step,
    T* to) {
  for (const LinePiece& line : pieces) {
    copy_line(from + line.from, step, line.size, to + line.to);
  }
}

// Taps of windows, and the weights and the sums of each row that has them.
template <typename T, std::size_t kRows>
struct TapSums {
  const std::int64_t* taps;
  const T* image;
  std::array<const T*, kRows> weights;
  std::array<T*, kRows> sums;
  std::int64_t size;

  RULEENGINE_INLINE void add(std::int64_t count, Ticker& tick) const {
    constexpr std::int64_t most = kRows == 1 ? kTapsOfRow : kTapsOfTwo;
    const std::int64_t parts = ceil_div(count, most);
    for (std::int64_t i = 0; i < parts; ++i) {
      tick(size);
      const std::int64_t begin = count * i / parts;
      add_part<most>(begin, count * (i + 1) / parts - begin);
    }
  }

 private:
  // So many taps, or less.
  template <std::int64_t kTaps>
  RULEENGINE_INLINE void add_part(std::int64_t begin,
                                  std::int64_t count) const {
    if constexpr (kTaps > 1) {
      if (count < kTaps) return add_part<kTaps - 1>(begin, count);
    }
    const T* from[kTaps];
    T by[kRows][kTaps];
    for (std::int64_t t = 0; t < kTaps; ++t) {
      from[t] = image + taps[begin + t];
      for (std::size_t r = 0; r < kRows; ++r) by[r][t] = weights[r][begin + t];
    }
    const std::array<T*, kRows> to = sums;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < size; ++i) {
      T x[kTaps];
      for (std::int64_t t = 0; t < kTaps; ++t) x[t] = from[t][i];
      // Row by row: what was read stays in registers only because a sum is
      // stored between its uses. Otherwise GCC 12 reads it again for each.
      for (std::size_t r = 0; r < kRows; ++r) {
        T sum = to[r][i];
        for (std::int64_t t = 0; t < kTaps; ++t) sum += by[r][t] * x[t];
        to[r][i] = sum;
      }
    }
  }
};

template <typename T>
[[gnu::always_inline]] inline void sum_taps(const PhaseLayout& layout,
                                            const T* image, const T* weights,
                                            T bias, std::int64_t windows,
                                            T* sums, Ticker& tick) {
  const std::int64_t size = ceil_div(windows, kSumStep) * kSumStep;
  const auto count = std::ssize(layout.taps());
  const std::int64_t* taps = layout.taps().data();
  for (std::int64_t i = 0; i < size; ++i) sums[i] = bias;
  if (layout.rows() == 1) {
    return TapSums<T, 1>{taps, image, {weights}, {sums}, size}.add(count, tick);
  }
  T* second = sums + layout.size();
  for (std::int64_t i = 0; i < size; ++i) second[i] = bias;
  const std::int64_t own = layout.own(), both = layout.block() - 2 * own;
  for (std::int64_t at = 0; at < count; at += layout.block()) {
    const std::int64_t* t = taps + at;
    TapSums<T, 1>{t, image, {weights}, {sums}, size}.add(own, tick);
    TapSums<T, 2>{
        t + own, image, {weights + own, weights}, {sums, second}, size}
        .add(both, tick);
    weights += both;
    TapSums<T, 1>{t + own + both, image, {weights}, {second}, size}.add(own,
                                                                        tick);
    weights += own;
  }
}

// What one plane of the output, place `i` among all, is computed from.
template <typename T>
struct DepthwisePlane {
  DepthwisePlane(const ConvJob& job, const Plane& plane, std::int64_t taps,
                 std::int64_t i) {
    const std::int64_t out = job.out(), channel = i % out;
    const std::int64_t from =
        i / out * job.channels.groups + channel / job.channels.out;
    image = job.x.data<T>() + from * plane.in;
    weights = job.weights.data<T>() + channel * taps;
    if (job.bias != nullptr) bias = job.bias->data<T>()[channel];
  }

  const T *image, *weights;
  T bias = 0;
};

template <typename T>
void depthwise_by_layout(Call& c, const ConvJob& job, const PhaseLayout& layout,
                         Tensor& y) {
  const Plane plane(job.windows);
  const std::int64_t planes = job.x.dim(0) * job.out();
  const std::int64_t taps = Columns(job.windows, c.threads()).taps();
  const std::int64_t size = layout.size();
  const std::int64_t bands = layout.bands();
  // The short lines of small images are copied faster from what lies together.
  const StrideSplit split(layout.stride(), plane.in);
  const bool is_split = split.stride > 1 && split.stride < plane.in &&
                        bands == 1 && plane.in <= kBand;
  // Planes of a piece share the lines of a band and its memory.
  const std::int64_t work = size * std::min(taps, kGrain);
  const std::int64_t grain =
      std::max(kPlanesAtOnce, ceil_div(8 * kGrain, work));
  c.threads().for_each(
      bands * planes, grain, [&](std::int64_t begin, std::int64_t end) {
        Tensor memory = c.allocate(
            kTypeOf<T>,
            Dims{size * (1 + layout.rows()) + (is_split ? split.size() : 0)});
        T* image = memory.mutable_data<T>();
        T* sums = image + size;
        T* lines = sums + size * layout.rows();
        Ticker tick(c.threads());
        for (std::int64_t i = begin; i < end;) {
          PhaseBand band = layout.band(i / planes);
          if (is_split) {
            for (LinePiece& line : band.image)
              line.from = split.place(line.from);
          }
          std::fill_n(image, size, T(0));  // what copies leave is padding
          const std::int64_t last = std::min(end, (i / planes + 1) * planes);
          for (; i < last; ++i) {
            const DepthwisePlane<T> one(job, plane, taps, i % planes);
            T* to = y.mutable_data<T>() + i % planes * plane.out;
            tick(size);
            runtime::for_vectors([&]() RULEENGINE_INLINE {
              if (is_split) split.copy(one.image, 0, split.line, lines);
              copy_pieces(band.image, is_split ? lines : one.image,
                          is_split ? 1 : layout.stride(), image);
              sum_taps(layout, image, one.weights, one.bias, band.windows, sums,
                       tick);
              copy_pieces(band.sums, sums, 1, to);
            });
          }
        }
      });
}

// Each window by itself, only with the taps that lie inside.
template <typename T>
void depthwise_by_window(Call& c, const ConvJob& job, Tensor& y) {
  const Plane plane(job.windows);
  const Window& w = plane.last();
  const std::int64_t taps = Columns(job.windows, c.threads()).taps();
  for_rows(c, plane, job.x.dim(0) * job.out(), 0,
           [&](std::int64_t i, std::int64_t row, const RowTaps& reads,
               std::byte*, Ticker& tick) {
             const DepthwisePlane<T> one(job, plane, taps, i);
             T* to = y.mutable_data<T>() + i * plane.out + row * w.out;
             for (std::int64_t o = 0; o < w.out; ++o) {
               const Range range = taps_inside(w, o);
               tick(1 + range.size() * std::ssize(reads.places));
               T sum = one.bias;
               for (std::size_t j = 0; j < reads.places.size(); ++j) {
                 const T* place = one.image + reads.places[j] + w.start(o);
                 const T* by = one.weights + reads.taps[j] * w.kernel;
                 for (std::int64_t k = range.begin; k < range.end; ++k) {
                   sum += by[k] * place[k * w.dilation];
                 }
               }
               to[o] = sum;
             }
           });
}

// Where each channel has its own kernel.
void conv_depthwise(Call& c, const ConvJob& job, Tensor& y) {
  const PhaseLayout layout(job.windows, kTapsOfRow);
  dispatch(Floats(), job.x.dtype(), [&]<typename T>() {
    if (layout.pays()) {
      depthwise_by_layout<T>(c, job, layout, y);
    } else {
      depthwise_by_window<T>(c, job, y);
    }
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
  // What many windows read is brought side by side once.
  const StrideSplit split = columns.split();
  const bool is_split =
      split.stride > 1 && split.stride < std::min(columns.taps(), split.count);
  const std::int64_t image_size = is_split ? split.size() : columns.image();
  const T* x = job.x.data<T>();
  Tensor lines;
  if (is_split) {
    const std::int64_t channels = job.x.dim(0) * job.x.dim(1);
    const std::int64_t pieces = ceil_div(split.size(), kGrain);
    const std::int64_t piece = ceil_div(split.line, pieces);
    lines = c.allocate(kTypeOf<T>, Dims{channels * split.size()});
    T* to = lines.mutable_data<T>();
    c.threads().for_each_index(
        channels * pieces, ceil_div(kGrain, split.size()), [=](std::int64_t i) {
          const std::int64_t channel = i / pieces, begin = i % pieces * piece;
          split.copy(x + channel * split.count, begin,
                     std::min(begin + piece, split.line),
                     to + channel * split.size());
        });
    x = to;
  }
  columns.for_tiles(
      job.x.dim(0) * groups, rows,
      [&](std::int64_t image, std::int64_t begin, std::int64_t end) {
        const T* from = x + image * in * image_size;
        auto product = job.start<T>(columns, image, begin, end, y);
        if (as_it_is) {
          product.b = {from + begin, columns.image()};
          return gemm<T>(c.threads(), product);
        }
        const PanelLayout<T> layout{rows, end - begin};
        Tensor block = c.allocate(kTypeOf<T>, Dims{layout.count()});
        T* panels = block.mutable_data<T>();
        columns.gather(from, in, begin, end, T(0), layout, panels, is_split);
        layout.clear_missing(panels);
        gemm_packed<T>(c.threads(), product, panels);
      });
}

void conv(Call& c, const ConvRule& rule) {
  const ConvJob job = ConvJob::of(c, rule, 2);
  const Dims dims = dims_of(job.x.dim(0), job.out(), job.windows);
  Tensor& y = c.output(0, job.x.dtype(), dims);
  if (y.count() == 0) return;
  if (job.channels.in == 1 && job.channels.groups > 1) {
    return conv_depthwise(c, job, y);
  }
  dispatch(Floats(), job.x.dtype(),
           [&]<typename T>() { conv_columns<T>(c, job, y); });
}

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

const KernelRows kConvolutionRows = {
    {"", "CausalConvWithState", causal_conv_with_state, Adapt::kWiden},
    {"", "Col2Im", col2im, Adapt::kWiden},
    {"", "Conv", keeping<conv, kept<ConvRule>>, Adapt::kWiden},
    {"", "ConvTranspose", conv_transpose, Adapt::kWiden},
    {"", "DeformConv", deform_conv, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
