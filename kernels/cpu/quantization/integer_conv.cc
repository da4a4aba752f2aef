// ConvInteger and QLinearConv: integer products with columns of the image.
#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/products/integer_gemm.h"
#include "kernels/cpu/quantization/quantization.h"

namespace ruleengine::kernels {
namespace {

// The inputs of a convolution.
struct ConvInputs {
  std::size_t x, x_zero, weights, weights_zero;
};

// Sums of the convolution, whole numbers. The weights are the first factor.
class IntegerConv {
 public:
  IntegerConv(const Preparation& p, const ConvInputs& inputs)
      : rule_(p), inputs_(inputs) {
    const Tensor* w = p.constant(inputs.weights);
    if (!p.arranges_weights() || w == nullptr || w->rank() < 2 ||
        rule_.groups < 1 || w->dim(0) % rule_.groups != 0 ||
        !is_bytes(w->dtype())) {
      return;
    }
    const std::int64_t size = packed_size(*w);
    if (auto packed = p.arranged(*w, DataType::kUint8, {&size, 1})) {
      pack(p.threads(), *w, *packed);
      packed_ = *std::move(packed);
      p.release(inputs.weights);
    }
  }

  // make(shape): where they go.
  template <typename F>
  void compute(Call& c, F make) const;

 private:
  static bool is_bytes(DataType type) {
    return type == DataType::kInt8 || type == DataType::kUint8;
  }
  static bool is_signed(const Tensor& t) {
    return t.dtype() == DataType::kInt8;
  }
  // Rows of a group, and terms of a row.
  std::int64_t out(const Tensor& w) const { return w.dim(0) / rule_.groups; }
  static std::int64_t terms(const Tensor& w) {
    return product(w.dims(), 1, w.rank());
  }
  std::int64_t group_size(const Tensor& w) const {
    return packed_rows_size(out(w), terms(w));
  }
  std::int64_t packed_size(const Tensor& w) const {
    return rule_.groups * group_size(w);
  }
  void pack(runtime::Threads& threads, const Tensor& w, Tensor& to) const {
    const std::int64_t rows = out(w), k = terms(w);
    const auto* from = w.data<std::uint8_t>();
    for (std::int64_t g = 0; g < rule_.groups; ++g) {
      pack_rows(threads, rows, k, {from + g * rows * k, is_signed(w), k},
                to.mutable_data<std::byte>() + g * group_size(w));
    }
  }

  ConvRule rule_;
  ConvInputs inputs_;
  Tensor packed_;  // weights that are constant
};

template <typename F>
void IntegerConv::compute(Call& c, F make) const {
  const auto& [i, i_zero, j, j_zero] = inputs_;
  const Tensor &x = c.input(i), &weights = c.input(j);
  const std::size_t behind = weights.rank() == 0 ? 0 : weights.rank() - 1;
  const Tensor x_zero = integer_zeros(c, i, i_zero, 0, {});
  Dims each(weights.rank(), 1);
  if (!each.empty()) each[0] = weights.dim(0);
  const Tensor zeros = integer_zeros(c, j, j_zero, behind, each);
  const auto [groups, in, rows] = channels_of(c, rule_, x, weights, false);
  const Windows windows = windows_of(c, rule_, x, weights);
  Tensor& sums = make(dims_of(x.dim(0), weights.dim(0), windows));
  if (sums.count() == 0) return;
  Tensor packed = packed_;
  if (packed.dtype() == DataType::kUndefined) {
    packed = c.allocate(DataType::kUint8, Dims{packed_size(weights)});
    pack(c.threads(), weights, packed);
  }
  const Columns columns(windows, c.threads());
  const std::int64_t k = in * columns.taps();
  const std::int32_t* starts = zeros.data<std::int32_t>();
  const std::int32_t* start = x_zero.data<std::int32_t>();
  std::int32_t* to = sums.mutable_data<std::int32_t>();
  columns.for_tiles(
      x.dim(0) * groups, k,
      [&](std::int64_t image, std::int64_t first, std::int64_t end) {
        const std::int64_t group = image % groups, width = end - first;
        Tensor block = c.allocate(DataType::kUint8, Dims{k, width});
        Tensor b =
            c.allocate(DataType::kUint8, Dims{packed_columns_size(k, width)});
        columns.gather(x.data<std::uint8_t>() + image * in * columns.image(),
                       in, first, end, static_cast<std::uint8_t>(*start),
                       RowMajor{width}, block.mutable_data<std::uint8_t>());
        pack_columns(c.threads(), k, width,
                     {block.data<std::uint8_t>(), is_signed(x), width},
                     b.mutable_data<std::byte>());
        const std::int64_t step = zeros.count() == 1 ? 0 : 1;
        integer_gemm(
            c.threads(),
            {.m = rows,
             .n = width,
             .k = k,
             .a = packed.data<std::byte>() + group * group_size(weights),
             .a_is_signed = is_signed(weights),
             .a_zero = {starts + group * rows * step, step},
             .b = b.data<std::byte>(),
             .b_is_signed = is_signed(x),
             .b_zero = {start, 0},
             .c = to + image * rows * columns.count() + first,
             .ldc = columns.count()});
      });
}

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

void linear_conv(Call& c, const IntegerConv& conv) {
  const Tensor& weights = c.input(3);
  Tensor factor, sums;
  conv.compute(c, [&](Shape dims) -> Tensor& {
    for (const std::size_t i : {1, 2, 6, 7}) c.expect_count(i, 1);
    // The axes of a channel follow it in the result as in the weights.
    const Tensor scale = spread(float_input(c, 4), weights.rank() - 2);
    if (scale.count() != 1 && scale.count() != weights.dim(0)) {
      c.wrong_shape(4, "1 or " + std::to_string(weights.dim(0)) + " elements");
    }
    factor = scale_factor(c, spread(float_input(c, 1), 0), scale,
                          spread(float_input(c, 6), 0));
    return sums = c.allocate(DataType::kInt32, dims);
  });
  if (c.has_input(8)) add_bias(c, sums);
  requantize(c, sums, factor, spread(float_input(c, 7), 0), c.input(7).dtype());
}

}  // namespace

Op conv_integer(const Preparation& p) {
  return [conv = IntegerConv(p, {0, 2, 1, 3})](Call& c) {
    conv.compute(c, [&](Shape dims) -> Tensor& {
      return c.output(0, DataType::kInt32, dims);
    });
  };
}

Op qlinear_conv(const Preparation& p) {
  return
      [conv = IntegerConv(p, {0, 2, 3, 5})](Call& c) { linear_conv(c, conv); };
}

}  // namespace ruleengine::kernels
