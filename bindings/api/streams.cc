#include "bindings/api/streams.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace ruleengine::api {
namespace {

// Longer messages of protobuf are not valid.
constexpr std::size_t kMostBytes = std::size_t{1} << 31;

Diagnostic unreadable_stdin(std::string found) {
  return {.kind = ErrorKind::kModel,
          .what = "the model cannot be read",
          .where = "-",
          .found = std::move(found)};
}

// Waits until stdin has something, or has ended.
Status wait_for_input(const Deadline& deadline) {
  constexpr int kPause = 100;  // milliseconds between looks at the deadline
  pollfd stdin_now{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (true) {
    if (Status status = deadline.check(); !status) return status;
    const int ready = ::poll(&stdin_now, 1, kPause);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) {
      return unreadable_stdin(std::generic_category().message(errno));
    }
  }
}

// Bytes in memory that grow in place.
Result<std::string_view> read_stdin(const Deadline& deadline) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  void* const room = ::mmap(nullptr, kMostBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  char* const bytes = static_cast<char*>(room);
  std::size_t size = 0;
  while (true) {
    if (Status status = wait_for_input(deadline); !status) {
      return status.error();
    }
    const ssize_t got =
        ::read(STDIN_FILENO, bytes + size, std::min(kPiece, kMostBytes - size));
    if (got < 0 && errno != EINTR) {
      return unreadable_stdin(std::generic_category().message(errno));
    }
    if (got == 0) break;
    size += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    if (size == kMostBytes) {
      Diagnostic large = unreadable_stdin("more");
      large.expected = "less than 2 GiB";
      large.hint = "write it to a file";
      return large;
    }
  }
  if (size == 0) return unreadable_stdin("nothing");
  return std::string_view(bytes, size);
}

struct StandardInput {
  bool is_used = false;
  std::mutex mutex;
  std::optional<Result<std::string_view>> given;
};

StandardInput& the_input() {
  static StandardInput input;
  return input;
}

}  // namespace

void use_standard_input() { the_input().is_used = true; }

Result<std::optional<std::string_view>> standard_input(
    const std::string& path, const Deadline& deadline) {
  StandardInput& input = the_input();
  if (path != "-" || !input.is_used) return std::optional<std::string_view>();
  const std::scoped_lock lock(input.mutex);
  if (!input.given) input.given = read_stdin(deadline);
  if (!*input.given) return input.given->error();
  return std::optional(**input.given);
}

}  // namespace ruleengine::api
