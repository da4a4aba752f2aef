// ByteSink: receives the bytes of a file in order: writes them, or compares
// them with an existing file.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/wire/wire.h"

namespace ruleengine::io {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // All of these append.
  virtual Status write(Bytes bytes) = 0;
  // Appends `size` bytes at `offset` of another file.
  virtual Status copy(int from, std::uint64_t offset, std::uint64_t size) = 0;
  virtual Status pad(std::uint64_t to) = 0;  // zeros up to that size
};

}  // namespace ruleengine::io
