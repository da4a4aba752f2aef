// Convolution from the output's side: ConvTranspose and Col2Im, which add
// columns to an image.

#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/number.h"

namespace ruleengine::kernels {
namespace {

struct TransposeRule {
  explicit TransposeRule(const Preparation& p)
      : conv(p),
        added(p, "output_padding", 0),
        shape(p.attribute_ints("output_shape")) {}

  ConvRule conv;
  WindowInts added;
  Ints shape;
};

// The windows over the output; their number is the size of the input.
Windows transposed_windows(Call& c, const TransposeRule& rule, Shape dims,
                           const Ints& kernel) {
  const Shape spatial = dims.subspan(2);
  const std::size_t rank = spatial.size();
  const WindowRule& windows = rule.conv.windows;
  Windows all = plain_windows(c, windows, spatial, kernel);
  const Ints added = rule.added.of(c, rank);
  std::span<const std::int64_t> sizes(rule.shape);
  const bool is_said = !sizes.empty();
  // Some exporters write the batch and the channels too.
  if (is_said && sizes.size() == rank + 2) sizes = sizes.subspan(2);
  if (is_said && sizes.size() != rank) {
    c.wrong_attribute("output_shape", std::to_string(rank) + " numbers");
  }
  for (std::size_t i = 0; i < rank; ++i) {
    Window& w = all[i];
    w.out = w.in;
    const std::int64_t natural = w.span() + added[i];
    if (is_said || windows.is_same()) {
      w.in = is_said ? sizes[i] : w.out * w.stride;
      split_padding(w, natural - w.in, windows.auto_pad == AutoPad::kSameUpper);
    } else {
      w.in = natural - w.before - w.after;
    }
  }
  return all;
}

template <typename T>
void transpose_columns(Call& c, const Tensor& x, const Tensor& weights,
                       const Tensor* bias, const Channels& channels,
                       const Windows& windows, Tensor& y) {
  const Columns columns(windows, c.threads());
  const auto [groups, in, out] = channels;
  const std::int64_t taps = columns.taps();
  // As many channels of the output together as make a block of many rows.
  const std::int64_t together =
      std::clamp<std::int64_t>(512 / taps, 1, std::max<std::int64_t>(out, 1));
  const std::int64_t pieces = ceil_div(out, together);
  const std::int64_t tile = columns.tile(together * taps);
  c.threads().for_each(
      x.dim(0) * groups * pieces, 1, [&](std::int64_t begin, std::int64_t) {
        const std::int64_t image = begin / pieces, group = image % groups;
        const std::int64_t first = begin % pieces * together;
        const std::int64_t count = std::min(together, out - first);
        const T* from = x.data<T>() + image * in * columns.count();
        T* to = y.mutable_data<T>() + (image * out + first) * columns.image();
        fill_bias(bias, group * out + first, count, columns.image(),
                  columns.image(), to);
        if (columns.count() == 0) return;
        Tensor block = c.allocate(kTypeOf<T>, Dims{count * taps, tile});
        const T* a = weights.data<T>() + group * in * out * taps + first * taps;
        for (std::int64_t at = 0; at < columns.count(); at += tile) {
          const std::int64_t end = std::min(at + tile, columns.count());
          gemm<T>(c.threads(), {.m = count * taps,
                                .n = end - at,
                                .k = in,
                                .a = {a, out * taps, true},
                                .b = {from + at, columns.count()},
                                .c = block.mutable_data<T>(),
                                .ldc = end - at});
          columns.scatter(block.data<T>(), count, at, end, to, Add());
        }
      });
}

Windows col2im_windows(Call& c, const WindowRule& rule) {
  const Ints image = c.ints(1), block = c.ints(2);
  Windows all = plain_windows(c, rule, image, block);
  for (Window& w : all) w.out = w.room() < 0 ? 0 : w.room() / w.stride + 1;
  return all;
}

void transposed_conv(Call& c, const TransposeRule& rule) {
  const Tensor& x = c.input(0);
  const Tensor& weights = c.input(1);
  const Channels channels = channels_of(c, rule.conv, x, weights, true);
  const std::int64_t out = channels.groups * channels.out;
  const Tensor* bias = bias_of(c, 2, x, out);
  const Windows windows = transposed_windows(
      c, rule, x.dims(),
      kernel_of_weights(c, rule.conv.windows, weights.dims()));
  const Dims dims = dims_of(x.dim(0), out, windows, &Window::in);
  Tensor& y = c.output(0, x.dtype(), dims);
  if (y.count() == 0) return;
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    transpose_columns<T>(c, x, weights, bias, channels, windows, y);
  });
}

void columns_to_image(Call& c, const WindowRule& rule) {
  const Tensor& x = c.expect_rank(0, 3);
  if (x.dim(1) > 1 << 30 || x.dim(2) > 1 << 30) {
    c.wrong_shape(0, "axes of at most 2^30");
  }
  const Windows windows = col2im_windows(c, rule);
  std::int64_t taps = 1, count = 1;
  for (const Window& w : windows) {
    // Never more than the input has, so that products fit.
    taps = std::min(taps * w.kernel, x.dim(1) + 1);
    count = std::min(count * std::min(w.out, x.dim(2) + 1), x.dim(2) + 1);
  }
  if (x.dim(1) % taps != 0 || count != x.dim(2)) {
    c.wrong_shape(0, std::to_string(taps) + " rows for each channel and " +
                         std::to_string(count) + " columns");
  }
  const std::int64_t channels = x.dim(1) / taps;
  const Dims dims = dims_of(x.dim(0), channels, windows, &Window::in);
  Tensor& y = c.output(0, x.dtype(), dims);
  if (y.count() == 0) return;
  const Columns columns(windows, c.threads());
  dispatch(NumbersBoolAndComplex(), x.dtype(), [&]<typename T>() {
    const std::int64_t size = columns.image();
    c.threads().for_each(x.dim(0) * channels, 1,
                         [&](std::int64_t i, std::int64_t) {
                           T* to = y.mutable_data<T>() + i * size;
                           std::fill_n(to, size, T());
                           columns.scatter(x.data<T>() + i * taps * count, 1, 0,
                                           count, to, Add());
                         });
  });
}

}  // namespace

Op conv_transpose(const Preparation& p) {
  return [rule = TransposeRule(p)](Call& c) { transposed_conv(c, rule); };
}

Op col2im(const Preparation& p) {
  return [rule = WindowRule(p)](Call& c) { columns_to_image(c, rule); };
}

}  // namespace ruleengine::kernels
