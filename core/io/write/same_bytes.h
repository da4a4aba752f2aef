// SameBytes: compares a file with the bytes that would be written. The first
// difference ends the writing with an error, and same() is then false. One
// thread each.
#pragma once

#include <vector>

#include "core/io/write/byte_sink.h"

namespace ruleengine::io {

class SameBytes final : public ByteSink {
 public:
  explicit SameBytes(int file) : file_(file) {}
  Status write(Bytes bytes) override;
  Status copy(int from, std::uint64_t offset, std::uint64_t size) override;
  Status pad(std::uint64_t to) override;
  bool same() const { return same_; }

 private:
  // Reads up to `size` bytes at the current position; empty at the end of the
  // file.
  Bytes read(std::uint64_t size);
  Status differs();

  int file_;
  std::uint64_t at_ = 0;
  bool same_ = true;
  std::vector<std::byte> there_, other_;
};

}  // namespace ruleengine::io
