#include "bindings/api/streams.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

namespace ruleengine::api {
namespace {

// What a message of protobuf may have.
constexpr std::size_t kMostBytes = std::size_t{1} << 31;

std::unique_ptr<const std::string>& given() {
  static std::unique_ptr<const std::string> bytes;
  return bytes;
}

Diagnostic unreadable_stdin(std::string found) {
  return {.kind = ErrorKind::kModel,
          .what = "the model cannot be read",
          .where = "stdin",
          .found = std::move(found)};
}

}  // namespace

Status read_standard_input(const Deadline& deadline) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  auto bytes = std::make_unique<std::string>();
  while (true) {
    if (Status s = deadline.check(); !s) return s;
    const std::size_t size = bytes->size();
    // Grows as a vector does, so that it is copied few times.
    if (bytes->capacity() < size + kPiece) bytes->reserve(2 * size + kPiece);
    bytes->resize(size + kPiece);
    const ssize_t got = ::read(STDIN_FILENO, bytes->data() + size, kPiece);
    const int error = errno;
    bytes->resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error != EINTR) {
      return unreadable_stdin(std::generic_category().message(error));
    }
    if (bytes->size() >= kMostBytes) {
      Diagnostic large = unreadable_stdin("more than that");
      large.expected = "less than 2 GiB";
      large.hint = "write it to a file";
      return large;
    }
    if (got == 0) break;
  }
  if (bytes->empty()) return unreadable_stdin("nothing");
  given() = std::move(bytes);
  return {};
}

const std::string* standard_input(const std::string& path) {
  return path == "-" ? given().get() : nullptr;
}

}  // namespace ruleengine::api
