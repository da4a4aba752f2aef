#include "bindings/api/command_runtime.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "bindings/api/child.h"
#include "bindings/lua/rule_source.h"
#include "core/io/descriptor.h"
#include "runtime/compare.h"
#include "runtime/npz.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;

// An answer is one line. Lines that are none, such as what a library prints,
// are passed over, up to this many bytes.
constexpr std::size_t kMostNoise = std::size_t{1} << 20;

// A longer run is no measurement; sums of such times stay finite.
constexpr double kMostSeconds = 1e9;

// How often to check that the runtime still runs, while it gives no answer.
constexpr double kCheckMilliseconds = 100;

Diagnostic failed(std::string what, std::string found) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .found = std::move(found)};
}

// The last line that is not empty.
std::string last_line(std::string_view text) {
  const auto end = text.find_last_not_of(" \r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.find_last_of('\n') + 1));
}

// A process of the runtime, and the lines to and from it.
class Talk {
 public:
  Talk(double answer_seconds, const Deadline& deadline)
      : answer_seconds_(answer_seconds), deadline_(deadline) {}
  // Lets the runtime end by itself.
  ~Talk() {
    to_ = {};
    child_.wait_until(Deadline(1));
  }

  Status start(const std::string& command) {
    std::array<int, 2> in, out;
    // A socket, since writing to a pipe that nobody reads raises a signal.
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0) {
      return not_started(errno);
    }
    to_ = io::Descriptor(in[0]);
    const io::Descriptor its_in(in[1]);
    if (::pipe2(out.data(), O_CLOEXEC) != 0) return not_started(errno);
    from_ = io::Descriptor(out[0]);
    const io::Descriptor its_out(out[1]);
    if (::pipe2(out.data(), O_CLOEXEC) != 0) return not_started(errno);
    errors_ = io::Descriptor(out[0]);
    const io::Descriptor its_errors(out[1]);
    if (::fcntl(errors_.get(), F_SETFL, O_NONBLOCK) != 0) {
      return not_started(errno);
    }
    const int error = child_.start({"/bin/sh", "-c", command}, its_in.get(),
                                   its_out.get(), its_errors.get());
    return error == 0 ? Status() : Status(not_started(error));
  }

  // What follows the word `answer` in the answer to this line.
  Result<std::string> ask(std::string line, std::string_view answer) {
    if (auto status = deadline_.check(); !status) return status.error();
    refused_ = false;
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
      const ssize_t sent =
          ::send(to_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return ended();
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    const Deadline until = Deadline(answer_seconds_).or_before(deadline_);
    for (std::size_t noise = 0; noise < kMostNoise;) {
      const auto next = read_line(until);
      if (!next) return next.error();
      std::string_view text = *next;
      if (take(text, answer)) {
        said_.clear();
        return std::string(text);
      }
      if (take(text, "error")) {
        refused_ = true;
        return failed("the runtime refuses", std::string(text));
      }
      noise += next->size() + 1;
    }
    return failed("the runtime gives no answer", "other lines");
  }

  // Whether the latest answer was an error.
  bool refused() const { return refused_; }

 private:
  // Removes the word from the front of the line.
  static bool take(std::string_view& line, std::string_view word) {
    std::string_view rest = line;
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    if (!rest.empty() && rest[0] != '\t' && rest[0] != ' ') return false;
    if (!rest.empty()) rest.remove_prefix(1);
    line = rest;
    return true;
  }

  Result<std::string> read_line(const Deadline& until) {
    std::array<char, 4096> buffer;
    bool has_ended = false, has_errors = true;
    for (;;) {
      if (const auto end = read_.find('\n'); end != std::string::npos) {
        std::string line = read_.substr(0, end);
        read_.erase(0, end + 1);
        if (line.ends_with('\r')) line.pop_back();
        return line;
      }
      if (read_.size() > kMostNoise) {
        return failed("the runtime gives no answer", "a line without an end");
      }
      if (until.is_over()) return is_late();
      std::array<pollfd, 2> wait = {
          {{from_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
      const double left = std::ceil(until.seconds_left() * 1e3);
      const int ready =
          ::poll(wait.data(), has_errors ? 2 : 1,
                 static_cast<int>(std::min(left, kCheckMilliseconds)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) {
        // Processes that it started may hold the pipe open.
        if (has_ended) return ended();
        has_ended = child_.wait_until(Deadline(0)).has_value();
        continue;
      }
      if (wait[1].revents != 0) has_errors = listen();
      if (wait[0].revents == 0) continue;
      const ssize_t size = ::read(from_.get(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return ended();
      read_.append(buffer.data(), static_cast<std::size_t>(size));
    }
  }

  // Reads standard error, and keeps its end; false when there is no more.
  bool listen() {
    constexpr std::size_t kKept = 4096;
    std::array<char, kKept> buffer;
    const ssize_t size = ::read(errors_.get(), buffer.data(), buffer.size());
    if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
    said_.append(buffer.data(), static_cast<std::size_t>(size));
    if (said_.size() > kKept) said_.erase(0, said_.size() - kKept);
    return true;
  }

  Diagnostic is_late() const {
    if (deadline_.is_over()) {
      return deadline_.passed({}, "the runtime gives no answer");
    }
    return {.kind = ErrorKind::kLimit,
            .what = fmt::format("the runtime gives no answer within {:g} s",
                                answer_seconds_)};
  }

  Diagnostic ended() {
    const auto status = child_.wait_until(Deadline(1));
    // What is left in the pipe; others may still write to it.
    constexpr int kMostReads = 64;
    pollfd more{errors_.get(), POLLIN, 0};
    for (int i = 0; i<kMostReads&& ::poll(&more, 1, 0)> 0; ++i) {
      if (!listen()) break;
    }
    std::string said = last_line(said_);
    if (said.empty() && status) said = status_text(*status);
    return failed("the runtime ended", std::move(said));
  }

  static Diagnostic not_started(int error) {
    return failed("the runtime cannot be started", std::strerror(error));
  }

  double answer_seconds_;
  Deadline deadline_;
  bool refused_ = false;
  Child child_;
  io::Descriptor to_, from_, errors_;
  std::string read_;  // and not yet used
  std::string said_;  // the end of its standard error since the latest answer
};

class CommandSession final : public engine::RuntimeSession {
 public:
  CommandSession(ModelFile model, Scratch& scratch,
                 const CommandRuntime::Settings& settings)
      : model_(std::move(model)),
        scratch_(scratch),
        limit_(settings.limit_memory),
        talk_(settings.answer_seconds, settings.deadline) {}

  // What the runtime calls itself, if it says so.
  Result<std::string> start(const CommandRuntime::Settings& settings) {
    for (const std::string& path : {model_.path(), settings.inputs}) {
      if (path.find_first_of("\t\n") == std::string::npos) continue;
      return failed("a path for the runtime has a tab or a line break",
                    printable(path));
    }
    std::string command = settings.command;
    if (settings.threads > 0) {
      command = fmt::format("export RULEENGINE_THREADS={}\n{}",
                            settings.threads, command);
    }
    if (Status s = talk_.start(command); !s) return s.error();
    return talk_.ask(
        fmt::format("load\t{}\t{}", model_.path(), settings.inputs), "ok");
  }

  Result<double> run(int times) override {
    const auto answer = talk_.ask(fmt::format("run\t{}", times), "seconds");
    if (!answer) return answer.error();
    double seconds = 0;
    const char* end = answer->data() + answer->size();
    const auto read = std::from_chars(answer->data(), end, seconds);
    if (read.ec != std::errc() || read.ptr != end || !std::isfinite(seconds) ||
        seconds < 0 || seconds > kMostSeconds) {
      return failed("the runtime gives no time", *answer);
    }
    return seconds;
  }

  Result<std::optional<std::string>> difference(
      engine::RuntimeSession& other) override {
    const auto theirs = static_cast<CommandSession&>(other).outputs();
    if (!theirs) return std::optional<std::string>();
    const auto ours = outputs();
    if (!ours) return ours.error();
    if (!*theirs || !*ours) return std::optional<std::string>();
    const auto compared = runtime::compare_by_type(**theirs, **ours);
    return std::optional(compared.mismatch ? compared.mismatch->text
                                           : std::string());
  }

 private:
  // None where the runtime does not give them, in a form that can be read.
  Result<std::optional<runtime::NamedData>> outputs() {
    const ScratchFile file = scratch_.file(".npz");
    const auto written = talk_.ask("outputs\t" + file.path(), "ok");
    if (!written && talk_.refused()) {
      return std::optional<runtime::NamedData>();
    }
    if (!written) return written.error();
    auto read = runtime::read_npz(file.path(), limit_);
    if (read) return std::optional(*std::move(read));
    if (read.error().kind == ErrorKind::kLimit) return read.error();
    return std::optional<runtime::NamedData>();
  }

  ModelFile model_;
  Scratch& scratch_;
  std::size_t limit_;
  Talk talk_;
};

}  // namespace

Result<std::unique_ptr<engine::RuntimeSession>> CommandRuntime::load(
    std::unique_ptr<ir::Model> model) {
  auto file = ModelFile::create(*model, scratch_);
  if (!file) return file.error();
  auto session =
      std::make_unique<CommandSession>(*std::move(file), scratch_, settings_);
  const auto name = session->start(settings_);
  if (!name) return name.error();
  if (!name->empty()) name_ = *name;
  return std::unique_ptr<engine::RuntimeSession>(std::move(session));
}

Result<std::string> runtime_command(const std::string& name) {
  if (name != "onnxruntime" && name != "openvino") return name;
  const auto rules = lua::rules_folder(nullptr);
  if (!rules) return rules.error();
  // Where the program was installed, and where it was built.
  const fs::path home = fs::path(*rules).parent_path();
  for (const fs::path& place :
       {home / "runtimes", home / "bindings" / "runtimes"}) {
    const std::string file = (place / ("run_" + name + ".py")).string();
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    std::string quoted;
    for (const char c : file) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return "exec python3 '" + quoted + "'";
  }
  return failed("the adapter of this runtime is missing", name);
}

}  // namespace ruleengine::api
