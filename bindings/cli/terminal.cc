#include "bindings/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
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

bool is_number(const std::string& cell) {
  return !cell.empty() && std::isdigit(static_cast<unsigned char>(cell[0]));
}

// About the columns on a terminal: counts bytes except UTF-8 continuations.
std::size_t width(const std::string& cell) {
  return static_cast<std::size_t>(std::ranges::count_if(cell, [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// Narrows the widest columns, which are two spaces apart, until all fit.
void narrow(std::vector<std::size_t>& widths, std::size_t columns) {
  constexpr std::size_t kLeast = 12;
  while (true) {
    std::size_t all = 2 * (widths.size() - 1);
    for (const std::size_t each : widths) all += each;
    const auto widest = std::ranges::max_element(widths);
    if (all <= columns || *widest <= kLeast) return;
    --*widest;
  }
}

// A cell in lines of at most `most` characters. A line ends behind a comma or a
// slash where its second half has one.
std::vector<std::string> lines_of(std::string_view cell, std::size_t most) {
  std::vector<std::string> out;
  while (width(std::string(cell)) > most) {
    std::size_t end = 0, stop = 0;
    for (std::size_t count = 0; count < most; ++count) {
      do ++end;
      while (end < cell.size() &&
             (static_cast<unsigned char>(cell[end]) & 0xc0) == 0x80);
      const char last = cell[end - 1];
      if (2 * count >= most && (last == ',' || last == '/')) stop = end;
    }
    if (stop == 0) stop = end;
    out.emplace_back(cell.substr(0, stop));
    cell.remove_prefix(stop);
    cell.remove_prefix(std::min(cell.find_first_not_of(' '), cell.size()));
  }
  out.emplace_back(cell);
  return out;
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

std::string option_for(std::int64_t opset, std::string_view tie) {
  if (opset > 0) return fmt::format("run --opset {}", opset);
  if (tie.empty()) return "";
  return fmt::format("run --dims {}, if that is always so", printable(tie));
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

std::string counted(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string table(const std::vector<std::vector<std::string>>& rows,
                  std::size_t columns) {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    auto& out = cells.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      out.push_back(printable(row[i]));
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], width(out[i]));
    }
  }
  if (columns > 0 && !widths.empty()) narrow(widths, columns);
  std::string text;
  for (std::size_t r = 0; r < cells.size(); ++r) {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 1;
    for (std::size_t i = 0; i < cells[r].size(); ++i) {
      parts.push_back(lines_of(cells[r][i], widths[i]));
      height = std::max(height, parts.back().size());
    }
    for (std::size_t h = 0; h < height; ++h) {
      std::string line;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string part = h < parts[i].size() ? parts[i][h] : "";
        const std::string pad(widths[i] - width(part), ' ');
        const bool right = r > 0 && is_number(cells[r][i]);
        if (i > 0) line += "  ";
        line += right ? pad + part : part + pad;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  }
  return text;
}

std::string folded(std::string_view text, std::size_t indent,
                   std::size_t further) {
  constexpr std::size_t kWidth = 116;
  std::string out;
  std::string line(indent, ' ');
  bool is_empty = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!is_empty && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line.assign(further, ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + std::string(word);
    is_empty = false;
  }
  return out + line + "\n";
}

std::string indented(std::string_view lines, std::size_t by) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text += std::string(by, ' ').append(lines.substr(0, end)) + '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

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
