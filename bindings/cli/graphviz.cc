#include "bindings/cli/graphviz.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/io/descriptor.h"

extern char** environ;

namespace ruleengine::cli {
namespace {

using Clock = std::chrono::steady_clock;

Diagnostic failed(std::string found) {
  return {.kind = ErrorKind::kWrite,
          .what = "Graphviz could not draw the model",
          .where = "dot -Tsvg",
          .found = std::move(found)};
}

Diagnostic missing() {
  return {.kind = ErrorKind::kWrite,
          .what = "Graphviz is not there, which lays the picture out",
          .expected = "the program `dot`",
          .hint = "apt-get install graphviz; -o FILE.dot needs none"};
}

// A file without a name, which the other program reads and writes: nothing can
// wait for anything as with pipes.
io::Descriptor memory_file() {
  return io::Descriptor(::memfd_create("ruleengine", MFD_CLOEXEC));
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return ::lseek(file, 0, SEEK_SET) == 0;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer;
  ::lseek(file, 0, SEEK_SET);
  while (true) {
    const ssize_t size = ::read(file, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

// Its end, or none when the time is up; it is gone then.
std::optional<int> wait_for(pid_t child, double seconds) {
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return -1;
    if (Clock::now() > until) break;
    std::this_thread::sleep_for(pause);
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

int spawn(pid_t& child, int in, int out, int err) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  std::string name = "dot", format = "-Tsvg";
  std::array<char*, 3> arguments = {name.data(), format.data(), nullptr};
  const int error = ::posix_spawnp(&child, "dot", &actions, nullptr,
                                   arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<std::string> svg_of(const std::string& dot, double seconds) {
  const io::Descriptor in = memory_file(), out = memory_file(),
                       err = memory_file();
  if (!in.valid() || !out.valid() || !err.valid() ||
      !write_all(in.get(), dot)) {
    return failed(std::strerror(errno));
  }
  pid_t child = 0;
  if (const int error = spawn(child, in.get(), out.get(), err.get())) {
    return error == ENOENT ? missing() : failed(std::strerror(error));
  }
  const std::optional<int> status = wait_for(child, seconds);
  if (!status) {
    Diagnostic slow = failed(fmt::format("nothing after {} s", seconds));
    slow.kind = ErrorKind::kLimit;
    slow.hint = "--boxes draws less at a time";
    return slow;
  }
  if (*status != 0) {
    const std::string said = read_all(err.get());
    // What cannot be started ends with 127.
    if (WIFEXITED(*status) && WEXITSTATUS(*status) == 127 && said.empty()) {
      return missing();
    }
    return failed(said.substr(0, said.find('\n')));
  }
  return read_all(out.get());
}

}  // namespace ruleengine::cli
