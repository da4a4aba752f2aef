#include "bindings/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bindings/api/failure.h"

namespace ruleengine::cli {
namespace {

bool is_terminal() {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  return terminal;
}

bool is_coloured() {
  static const bool coloured =
      is_terminal() && std::getenv("NO_COLOR") == nullptr;
  return coloured;
}

// Colours the first word of `text` ("error:", "warning:").
std::string highlighted(const std::string& text, const char* colour) {
  const auto end = text.find(':');
  if (!is_coloured() || end == std::string::npos) return text;
  return fmt::format("\x1b[1;{}m{}\x1b[0m{}", colour, text.substr(0, end + 1),
                     text.substr(end + 1));
}

// Makes every line printable.
std::string shown(std::string_view lines) {
  std::string out;
  for (;;) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    out += printable(lines.substr(0, end), std::string::npos);
    if (end == lines.size()) return out;
    out += '\n';
    lines.remove_prefix(end + 1);
  }
}

// One write per line, so that lines of several threads do not mix.
void write_line(std::string line) {
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

std::size_t columns_of_stdout() {
  winsize size{};
  const bool is_known = ::isatty(STDOUT_FILENO) == 1 &&
                        ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return is_known ? size.ws_col : 0;
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kModel:
      return 3;
    case ErrorKind::kRule:
      return 4;
    case ErrorKind::kLimit:
      return 5;
    case ErrorKind::kVerify:
      return 6;
    case ErrorKind::kWrite:
      return 7;
    case ErrorKind::kCancelled:  // as a shell says of SIGINT
      return 130;
    case ErrorKind::kInternal:
      break;
  }
  return 70;
}

Diagnostic with_option(Diagnostic error) {
  static constexpr std::pair<Remedy, const char*> kHints[] = {
      {Remedy::kTime, "--limit-time raises it"},
      {Remedy::kMemory, "--limit-memory raises it"},
      {Remedy::kTensors, "--limit-tensors raises it"},
      {Remedy::kRewrites, "--limit-rewrites raises it"},
      {Remedy::kCallback, "--limit-callback raises it"},
      {Remedy::kLoad, "--limit-load raises it"},
      {Remedy::kFolder, "give a folder with -o"},
      {Remedy::kInputs, "give sizes with --dims, or arrays with --inputs"},
      {Remedy::kRanks, "exec --ranks runs several"},
      {Remedy::kDevice, "without --device, or with auto, it runs on the CPU"}};
  for (const auto& [remedy, hint] : kHints) {
    if (error.remedy != remedy) continue;
    if (!error.hint.empty()) error.hint += "; ";
    error.hint += hint;
  }
  // Of --set.
  if (error.kind == ErrorKind::kUsage && error.expected == "a boolean") {
    error.expected = "true or false";
  }
  return error;
}

std::string spelled(std::string_view option, std::string_view value) {
  if (option == "verbose") return "-v";
  if (option == "explain")
    return fmt::format("ruleengine explain {} [NODE]", value);
  if (value.empty()) return fmt::format("--{}", option);
  // Other verbs give these hints too.
  const bool is_of_run = option == "opset" || option == "dims";
  return fmt::format("{}--{} {}", is_of_run ? "run " : "", option, value);
}

int guarded(const std::function<int()>& verb) {
  try {
    return verb();
  } catch (const api::Failure& failure) {
    return fail(failure.error);
  }
}

int fail(const Diagnostic& error) {
  write_line(highlighted(with_option(error).text(), "31"));
  return exit_code(error.kind);
}

void warn(const std::string& message) {
  write_line(highlighted("warning: " + printable(message, 2000), "33"));
}

void say(const std::string& lines) { write_line(shown(lines)); }

void flush_stdout() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::system_error(errno, std::generic_category());
  }
}

void put(std::string_view lines) { fmt::print("{}", shown(lines)); }

Progress::Progress(const std::string& label, bool enabled)
    : label_(printable(label)),
      enabled_(enabled && is_terminal()),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

std::function<void(std::uint64_t, std::uint64_t)> Progress::callback() {
  if (!enabled_) return {};
  return [this](std::uint64_t done, std::uint64_t total) { draw(done, total); };
}

void Progress::draw(std::uint64_t done, std::uint64_t total) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < milliseconds(500) || now - last_ < milliseconds(50)) {
    return;
  }
  last_ = now;
  drawn_ = true;
  constexpr std::uint64_t kWidth = 30;
  const std::uint64_t filled =
      total == 0 ? 0 : std::min(done, total) * kWidth / total;
  fmt::print(stderr, "\r{} [{}{}] {}/{}\x1b[K", label_,
             std::string(filled, '#'), std::string(kWidth - filled, '.'), done,
             total);
  std::fflush(stderr);
}

}  // namespace ruleengine::cli
