// Lines that are few are split, so that there is work for all processors.
#pragma once

#include <cstdint>

namespace ruleengine::kernels::device {

struct Split {
  std::int64_t parts = 1;
  std::int64_t size;  // of a part, fewer in the last one; a multiple of 16
};

// Of lines of n elements that give so many blocks; a part has `least` or more.
inline Split split_of(std::int64_t n, std::int64_t blocks,
                      std::int64_t processors, std::int64_t least) {
  const Split whole{.parts = 1, .size = n};
  if (blocks >= processors) return whole;
  const std::int64_t wanted = (2 * processors + blocks - 1) / blocks;
  std::int64_t size = (n + wanted - 1) / wanted;
  if (size < least) size = least;
  size = (size + 15) / 16 * 16;
  if (size >= n) return whole;
  return {.parts = (n + size - 1) / size, .size = size};
}

}  // namespace ruleengine::kernels::device
