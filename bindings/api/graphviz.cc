#include "bindings/api/graphviz.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "bindings/api/child.h"
#include "core/io/descriptor.h"

namespace ruleengine::api {
namespace {

constexpr double kMostSeconds = 120;

Diagnostic failed(std::string found) {
  return {.kind = ErrorKind::kWrite,
          .what = "Graphviz could not draw the model",
          .where = "dot -Tsvg",
          .found = std::move(found)};
}

Diagnostic missing() {
  return {.kind = ErrorKind::kWrite,
          .what = "Graphviz, which makes the layout, is not installed",
          .expected = "the program `dot`",
          .hint = "apt-get install graphviz; -o FILE.dot works without it"};
}

// A file without a name, which the other program reads and writes. With pipes
// each program could block waiting for the other.
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

// One process of dot, for one graph: version 2.43 corrupts its memory when it
// draws many graphs. The destructor kills it if it still runs.
class Drawing {
 public:
  Drawing() : in_(memory_file()), out_(memory_file()), err_(memory_file()) {}
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

  Status start(const std::string& dot) {
    if (!in_.valid() || !out_.valid() || !err_.valid() ||
        !write_all(in_.get(), dot)) {
      return failed(std::strerror(errno));
    }
    const int error =
        child_.start({"dot", "-Tsvg"}, in_.get(), out_.get(), err_.get());
    if (error == 0) return {};
    return error == ENOENT ? missing() : failed(std::strerror(error));
  }

  Result<std::string> finish(const Deadline& until, const Deadline& run) {
    const std::optional<int> status = child_.wait_until(until);
    if (!status) {
      if (run.is_over()) return run.passed({}, "Graphviz at work");
      Diagnostic slow =
          failed(fmt::format("no result after {} s", kMostSeconds));
      slow.kind = ErrorKind::kLimit;
      slow.hint = "use a smaller --boxes";
      return slow;
    }
    if (*status == 0) return read_all(out_.get());
    const std::string said = read_all(err_.get());
    if (is_missing(*status) && said.empty()) return missing();
    return failed(said.substr(0, said.find('\n')));
  }

 private:
  io::Descriptor in_, out_, err_;
  Child child_;
};

}  // namespace

Result<std::vector<std::string>> svgs_of(const std::vector<std::string>& dots,
                                         const Deadline& deadline) {
  const Deadline until = Deadline(kMostSeconds).or_before(deadline);
  const std::size_t most =
      std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
  std::deque<std::unique_ptr<Drawing>> running;
  std::vector<std::string> svgs;
  for (std::size_t next = 0; svgs.size() < dots.size();) {
    while (next < dots.size() && running.size() < most) {
      running.push_back(std::make_unique<Drawing>());
      if (auto status = running.back()->start(dots[next++]); !status) {
        return status.error();
      }
    }
    auto svg = running.front()->finish(until, deadline);
    if (!svg) return svg.error();
    svgs.push_back(std::move(*svg));
    running.pop_front();
  }
  return svgs;
}

}  // namespace ruleengine::api
