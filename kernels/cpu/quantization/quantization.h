// What the files of quantization share: quantization.cc (rows, and quantizing
// element by element), integer_product.cc and integer_conv.cc. Internal to
// kernels/cpu.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/shapes.h"

namespace ruleengine::kernels {

Op conv_integer(const Preparation& p);
Op mat_mul_integer(const Preparation& p);
Op qlinear_conv(const Preparation& p);
Op qlinear_mat_mul(const Preparation& p);

// The nearest whole number (half to even) plus `zero`, within [low, high]; NaN
// becomes the lowest.
template <typename T>
T saturated(T value, T zero, T low, T high) {
  const T v = std::nearbyint(value) + zero;
  const T raised = v > low ? v : low;
  return raised < high ? raised : high;
}

// An input as float, or 0 where it is absent.
Tensor float_input(const Call& c, std::size_t i);

// A scale or zero point as it broadcasts: one number as a scalar, those of one
// axis followed by `behind` axes of size 1.
Tensor spread(const Tensor& t, std::size_t behind);

// Input `i` less the zero point of input `zero`, as float; that is 0 where it
// is absent, and spread() where it has an axis.
Tensor shifted_input(Call& c, std::size_t i, std::size_t zero,
                     std::size_t behind);

// The zero points of input `i`, which must be of 8-bit integers, as int32: one
// number, or of the shape `each`.
Tensor integer_zeros(Call& c, std::size_t i, std::size_t zero,
                     std::size_t behind, Shape each);

// a * b / y.
Tensor scale_factor(Call& c, const Tensor& a, const Tensor& b, const Tensor& y);

// Fails where scales or zero points do not broadcast to the shape of a result.
void check_spread(const Tensor& t, Shape result);

// Output 0: sums * factor + zero, rounded, as the type of integer.
void requantize(Call& c, const Tensor& sums, const Tensor& factor,
                const Tensor& zero, DataType to);

}  // namespace ruleengine::kernels
