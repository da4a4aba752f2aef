// What a person sees: diagnostics, warnings and the progress bar on stderr,
// coloured on a terminal only (and never with NO_COLOR set), answers on stdout.
// Whatever text of a model or a rule is in it arrives escaped (printable()), a
// line at a time. Thread-safe by line: with --jobs several models write at
// once.
#ifndef RULEENGINE_BINDINGS_CLI_TERMINAL_H_
#define RULEENGINE_BINDINGS_CLI_TERMINAL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

#include "core/base/diagnostic.h"

namespace ruleengine::cli {

// What the process ends with where nothing failed and the answer is no: an
// example that does not pass, too little coverage.
inline constexpr int kAnswerIsNo = 1;
int exit_code(ErrorKind kind);
// Says which option raises the limit that was reached.
Diagnostic with_option(Diagnostic error);

// Prints the diagnostic and returns its exit code.
int fail(const Diagnostic& error);
void warn(const std::string& message);
void say(const std::string& lines);  // to stderr
void put(std::string_view lines);    // to stdout; ends with a newline
template <typename... Args>
void show(fmt::format_string<Args...> form, Args&&... args) {
  put(fmt::format(form, std::forward<Args>(args)...));
}

// Columns aligned, the first row is the head; numbers to the right. Cells are
// made printable.
std::string table(const std::vector<std::vector<std::string>>& rows);

// Every line of it so far to the right.
std::string indented(std::string_view lines, std::size_t by);

// Two spaces deep, a newline at the end, all in ASCII. JSON holds UTF-8 only:
// what is not, in a file's name for instance, is replaced.
std::string text_of(const nlohmann::ordered_json& json);
// A name for JSON: as it is, or printable where it is not UTF-8.
std::string exact(std::string_view name);

// A bar that appears after half a second, on a terminal only; erased when it
// is destroyed.
class Progress {
 public:
  Progress(const std::string& label, bool enabled);
  ~Progress();
  std::function<void(std::uint64_t, std::uint64_t)> callback();

 private:
  void draw(std::uint64_t done, std::uint64_t total);

  std::string label_;
  bool enabled_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_TERMINAL_H_
