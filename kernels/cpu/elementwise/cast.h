// Conversion of tensors between element types. Internal to kernels/cpu.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

enum class ScaleRounding : std::uint8_t { kUp, kDown, kNearest };

struct CastMode {
  // What float8 does beyond its range: the largest number, or NaN or infinity.
  bool saturate = true;
  // Of float8e8m0.
  ScaleRounding rounding = ScaleRounding::kUp;
};

// Numbers and truth values as a type of C++, as Cast does.
Tensor in_type(const Call& c, const Tensor& x, DataType to);

// Narrow floats as float, and elements below a byte as a byte each.
Tensor as_computed(const Call& c, const Tensor& x);

// As ONNX's Cast. The bytes are shared where the elements stay.
Tensor cast_tensor(const Call& c, const Tensor& x, DataType to,
                   const CastMode& mode);

// cast_string.cc: from strings to a type of C++, and from a type of C++, or a
// float of 16 bits or fewer, to strings.
Tensor parse_strings(const Call& c, const Tensor& x, DataType to);
Tensor print_numbers(const Call& c, const Tensor& x);

}  // namespace ruleengine::kernels
