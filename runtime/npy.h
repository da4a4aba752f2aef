// One array of NumPy's .npy format: a header of text, then the elements.
// Internal to runtime: npz.h is the interface.
#pragma once

#include <string>
#include <string_view>

#include "runtime/memory.h"
#include "runtime/tensor.h"

namespace ruleengine::runtime {

// Throws Failure if the bytes are not an array, or an array of objects; kLimit
// where `memory` cannot hold it.
Tensor read_npy(std::string_view bytes, HostMemory& memory);
std::string npy_of(const Tensor& t);

}  // namespace ruleengine::runtime
