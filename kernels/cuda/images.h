// The machine code of the kernels in kernels/cuda/device, which the build makes
// of each source there (cmake/cuda.cmake).
#pragma once

#include <span>
#include <string_view>

namespace ruleengine::kernels {

struct Image {
  std::string_view family;               // "softmax", of softmax.cu
  std::span<const unsigned char> bytes;  // a fat binary, for all chips
};

// In the order of their names.
std::span<const Image> images();

}  // namespace ruleengine::kernels
