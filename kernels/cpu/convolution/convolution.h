// What the files of convolution share. Internal to kernels/cpu.
#pragma once

#include <algorithm>

#include "kernels/cpu/convolution/columns.h"
#include "kernels/cpu/products/gemm.h"

namespace ruleengine::kernels {

Op causal_conv_with_state(const Preparation& p);
Op col2im(const Preparation& p);
Op conv_transpose(const Preparation& p);
Op deform_conv(const Preparation& p);

// The attributes of a convolution.
struct ConvRule {
  explicit ConvRule(const Preparation& p)
      : windows(p),
        groups(p.attribute_int("group")),
        weights(p.op().type == "QLinearConv" ? 3 : 1) {}

  WindowRule windows;
  std::int64_t groups;
  std::size_t weights;  // the input that they are
};

// Channels of a convolution and their groups.
struct Channels {
  std::int64_t groups, in, out;  // in and out of a group
};

// Of weights [out, in / groups, ...], or of transposed ones [in, out / groups,
// ...]; fails where they do not fit the input.
Channels channels_of(Call& c, const ConvRule& rule, const Tensor& x,
                     const Tensor& weights, bool transposed);

// The windows over x; fails where the weights do not fit them.
Windows windows_of(Call& c, const ConvRule& rule, const Tensor& x,
                   const Tensor& weights);

// Input `i` if it is there: one number for each output channel.
const Tensor* bias_of(Call& c, std::size_t i, const Tensor& x,
                      std::int64_t channels);

// So many elements of each channel of the output, which begin `stride` apart,
// as its bias, or 0.
template <typename T>
void fill_bias(const Tensor* bias, std::int64_t first, std::int64_t channels,
               std::int64_t size, std::int64_t stride, T* out) {
  for (std::int64_t i = 0; i < channels; ++i) {
    std::fill_n(out + i * stride, size,
                bias == nullptr ? T(0) : bias->data<T>()[first + i]);
  }
}

// A convolution of floats, whose parts fit each other.
struct ConvJob {
  const Tensor& x;
  const Tensor& weights;
  Channels channels;
  const Tensor* bias;
  Windows windows;

  // `bias`: the input that it is.
  static ConvJob of(Call& c, const ConvRule& rule, std::size_t bias);
  std::int64_t out() const { return channels.groups * channels.out; }

  // Windows [begin, end) of a group's image of y as its bias, if it has one,
  // and the product with their columns that comes on top.
  template <typename T>
  GemmArguments<T> start(const Columns& columns, std::int64_t image,
                         std::int64_t begin, std::int64_t end,
                         Tensor& y) const {
    const auto [groups, in, rows] = channels;
    const std::int64_t group = image % groups, terms = in * columns.taps();
    T* to = y.mutable_data<T>() + image * rows * columns.count() + begin;
    if (bias != nullptr) {
      fill_bias(bias, group * rows, rows, end - begin, columns.count(), to);
    }
    return {.m = rows,
            .n = end - begin,
            .k = terms,
            .a = {weights.data<T>() + group * rows * terms, terms},
            .beta = bias == nullptr ? T(0) : T(1),
            .c = to,
            .ldc = columns.count()};
  }
};

}  // namespace ruleengine::kernels
