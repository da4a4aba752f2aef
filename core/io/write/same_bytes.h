// SameBytes: compares a file with the bytes that would be written. The first
// difference ends the writing with an error, and same() is then false. One
// thread each.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/io/output.h"

namespace ruleengine::io {

class SameBytes final : public ByteSink {
 public:
  explicit SameBytes(int file) : file_(file) {}

  Status write(Bytes bytes) override {
    while (!bytes.empty()) {
      const Bytes there = read_at(file_, at_, bytes.size(), there_);
      if (there.empty() ||
          std::memcmp(there.data(), bytes.data(), there.size()) != 0) {
        return differs();
      }
      at_ += there.size();
      bytes = bytes.subspan(there.size());
    }
    return {};
  }

  Status copy(int from, std::uint64_t offset, std::uint64_t size) override {
    while (size > 0) {
      const Bytes part = read_at(from, offset, size, other_);
      if (part.empty()) return differs();
      if (Status s = write(part); !s) return s;
      offset += part.size();
      size -= part.size();
    }
    return {};
  }

  Status pad(std::uint64_t to) override {
    while (at_ < to) {
      const Bytes there = read_at(file_, at_, to - at_, there_);
      const bool zeros =
          std::ranges::count(there, std::byte{0}) == std::ssize(there);
      if (there.empty() || !zeros) return differs();
      at_ += there.size();
    }
    return {};
  }

  bool same() const { return same_; }

 private:
  // Reads some of the bytes there; none at the end of the file.
  static Bytes read_at(int file, std::uint64_t offset, std::uint64_t size,
                       std::vector<std::byte>& into) {
    constexpr std::uint64_t kStep = 1 << 20;
    into.resize(std::min(size, kStep));
    ssize_t got;
    do {
      got = ::pread(file, into.data(), into.size(), static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    return {into.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
  }

  Status differs() {
    same_ = false;
    return Diagnostic{.kind = ErrorKind::kWrite, .what = "the data differs"};
  }

  int file_;
  std::uint64_t at_ = 0;
  bool same_ = true;
  std::vector<std::byte> there_, other_;
};

}  // namespace ruleengine::io
