// What the files of convolution share. Internal to kernels/cpu.
#pragma once

#include <algorithm>

#include "kernels/cpu/convolution/windows.h"

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

// Every channel of the output as its bias, or 0.
template <typename T>
void fill_bias(const Tensor* bias, std::int64_t first, std::int64_t channels,
               std::int64_t size, T* out) {
  for (std::int64_t i = 0; i < channels; ++i) {
    std::fill_n(out + i * size, size,
                bias == nullptr ? T(0) : bias->data<T>()[first + i]);
  }
}

}  // namespace ruleengine::kernels
