// Floating point types of 16 bits and less: the number that bits stand for, and
// the bits nearest to a number (half to even; beyond the largest number:
// infinity where the type has one, else the largest, as ONNX's Cast saturates).
// Pure functions, safe on any thread.
#pragma once

#include <cstdint>

#include "core/ir/data_type.h"

namespace ruleengine::ir {

// float16, bfloat16, float8*, float4e2m1.
bool is_narrow_float(DataType type);

double widen(DataType type, std::uint32_t bits);
std::uint32_t narrow(DataType type, double value);

}  // namespace ruleengine::ir
