// ByteSink: where the bytes of a file go, one after the other: into the file,
// or beside one that is there, to see whether it is the same.
#ifndef RULEENGINE_CORE_IO_WRITE_BYTE_SINK_H_
#define RULEENGINE_CORE_IO_WRITE_BYTE_SINK_H_

#include <cstdint>

#include "core/base/result.h"
#include "core/io/wire/wire.h"

namespace ruleengine::io {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // All append.
  virtual Status write(Bytes bytes) = 0;
  // `size` bytes at `offset` of another file.
  virtual Status copy(int from, std::uint64_t offset, std::uint64_t size) = 0;
  virtual Status pad(std::uint64_t to) = 0;  // zeros up to that size
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_WRITE_BYTE_SINK_H_
