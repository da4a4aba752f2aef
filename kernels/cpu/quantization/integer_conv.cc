// ConvInteger and QLinearConv: integer products with columns of the image.
#include "kernels/cpu/convolution/columns.h"
#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/quantization/quantization.h"

namespace ruleengine::kernels {
namespace {

// Sums of the convolution of x and weights, whole numbers as float.
struct IntegerConv {
  IntegerConv(Call& c, const ConvRule& rule, Tensor image, Tensor kernels)
      : x(std::move(image)),
        weights(std::move(kernels)),
        channels(channels_of(c, rule, x, weights, false)),
        windows(windows_of(c, rule, x, weights)),
        dims(dims_of(x.dim(0), weights.dim(0), windows)) {}

  void compute(Call& c, Tensor& sums) const {
    if (sums.count() == 0) return;
    const Columns columns(windows, c.threads());
    const auto [groups, in, out] = channels;
    const std::int64_t rows = in * columns.taps();
    const std::int64_t tile = columns.tile(rows);
    const std::int64_t tiles = ceil_div(columns.count(), tile);
    std::int32_t* to = sums.mutable_data<std::int32_t>();
    c.threads().for_each(
        x.dim(0) * groups * tiles, 1, [&](std::int64_t piece, std::int64_t) {
          const std::int64_t image = piece / tiles, group = image % groups;
          const std::int64_t first = piece % tiles * tile;
          const std::int64_t last = std::min(first + tile, columns.count());
          Tensor block = c.allocate(DataType::kFloat, Dims{rows, last - first});
          columns.gather(x.data<float>() + image * in * columns.image(), in,
                         first, last, block.mutable_data<float>());
          integer_gemm(c, out, last - first, rows,
                       weights.data<float>() + group * out * rows, rows,
                       block.data<float>(), last - first,
                       to + image * out * columns.count() + first,
                       columns.count());
        });
  }

  Tensor x, weights;
  Channels channels;
  Windows windows;
  Dims dims;
};

void add_bias(Call& c, Tensor& sums) {
  const std::int64_t channels = sums.dim(1);
  const Tensor& bias = c.expect_count(8, channels, DataType::kInt32);
  if (sums.count() == 0) return;
  const std::int64_t size = product(sums.dims(), 2, sums.rank());
  std::int32_t* to = sums.mutable_data<std::int32_t>();
  const std::int32_t* values = bias.data<std::int32_t>();
  c.threads().for_each(
      sums.dim(0) * channels, 1, [&](std::int64_t i, std::int64_t) {
        const auto by = static_cast<std::uint32_t>(values[i % channels]);
        for (std::int64_t j = i * size; j < (i + 1) * size; ++j) {
          to[j] =
              static_cast<std::int32_t>(static_cast<std::uint32_t>(to[j]) + by);
        }
      });
}

std::size_t behind_channel(const Tensor& weights) {
  return weights.rank() == 0 ? 0 : weights.rank() - 1;
}

void integer_conv(Call& c, const ConvRule& rule) {
  const std::size_t behind = behind_channel(c.input(1));
  const IntegerConv conv(c, rule, shifted_input(c, 0, 2, 0),
                         shifted_input(c, 1, 3, behind));
  conv.compute(c, c.output(0, DataType::kInt32, conv.dims));
}

void linear_conv(Call& c, const ConvRule& rule) {
  const std::size_t behind = behind_channel(c.input(3));
  const IntegerConv conv(c, rule, shifted_input(c, 0, 2, 0),
                         shifted_input(c, 3, 5, behind));
  for (const std::size_t i : {1, 2, 6, 7}) c.expect_count(i, 1);
  // The axes of a channel follow it in the result as in the weights.
  const Tensor scale = spread(float_input(c, 4), behind - 1);
  if (scale.count() != 1 && scale.count() != conv.weights.dim(0)) {
    c.wrong_shape(4,
                  "1 or " + std::to_string(conv.weights.dim(0)) + " elements");
  }
  const Tensor factor = scale_factor(c, spread(float_input(c, 1), 0), scale,
                                     spread(float_input(c, 6), 0));
  Tensor sums = c.allocate(DataType::kInt32, conv.dims);
  conv.compute(c, sums);
  if (c.has_input(8)) add_bias(c, sums);
  requantize(c, sums, factor, spread(float_input(c, 7), 0), c.input(7).dtype());
}

}  // namespace

Op conv_integer(const Preparation& p) {
  return [rule = ConvRule(p)](Call& c) { integer_conv(c, rule); };
}

Op qlinear_conv(const Preparation& p) {
  return [rule = ConvRule(p)](Call& c) { linear_conv(c, rule); };
}

}  // namespace ruleengine::kernels
