#include "core/io/write/same_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ruleengine::io {
namespace {

constexpr std::uint64_t kStep = 1 << 20;

Bytes read_at(int file, std::uint64_t offset, std::uint64_t size,
              std::vector<std::byte>& into) {
  into.resize(std::min(size, kStep));
  ssize_t got;
  do {
    got = ::pread(file, into.data(), into.size(), static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  return {into.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
}

}  // namespace

Bytes SameBytes::read(std::uint64_t size) {
  return read_at(file_, at_, size, there_);
}

Status SameBytes::differs() {
  same_ = false;
  return Diagnostic{.kind = ErrorKind::kWrite, .what = "the data differs"};
}

Status SameBytes::write(Bytes bytes) {
  while (!bytes.empty()) {
    const Bytes there = read(bytes.size());
    if (there.empty() ||
        std::memcmp(there.data(), bytes.data(), there.size()) != 0) {
      return differs();
    }
    at_ += there.size();
    bytes = bytes.subspan(there.size());
  }
  return {};
}

Status SameBytes::copy(int from, std::uint64_t offset, std::uint64_t size) {
  while (size > 0) {
    const Bytes part = read_at(from, offset, size, other_);
    if (part.empty()) return differs();
    if (Status s = write(part); !s) return s;
    offset += part.size();
    size -= part.size();
  }
  return {};
}

Status SameBytes::pad(std::uint64_t to) {
  while (at_ < to) {
    const Bytes there = read(to - at_);
    const bool zeros = std::ranges::all_of(
        there, [](std::byte b) { return b == std::byte{0}; });
    if (there.empty() || !zeros) return differs();
    at_ += there.size();
  }
  return {};
}

}  // namespace ruleengine::io
