// Output for people: diagnostics, warnings and the progress bar on stderr,
// coloured on a terminal only (and never if NO_COLOR is set); results on
// stdout. Text from a model or a rule is escaped (printable()), line by line.
// Thread-safe for whole lines: with --jobs several models write at the same
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/diagnostic.h"
#include "core/base/layout.h"

namespace ruleengine::cli {

// The exit code of verbs that worked but found a failure: an example that does
// not pass, too little coverage.
inline constexpr int kAnswerIsNo = 1;
int exit_code(ErrorKind kind);
// In the terms of the command line, with a hint which option may help.
Diagnostic with_option(Diagnostic error);
// How the command line spells an option; see api::Spell.
std::string spelled(std::string_view option, std::string_view value);

// Prints the diagnostic and returns its exit code.
int fail(const Diagnostic& error);
// The exit code of a verb; what it throws is printed.
int guarded(const std::function<int()>& verb);
void warn(const std::string& message);
void say(const std::string& lines);  // to stderr
void put(std::string_view lines);    // to stdout; ends with a newline
void flush_stdout();                 // throws std::system_error
template <typename... Args>
void show(fmt::format_string<Args...> form, Args&&... args) {
  put(fmt::format(form, std::forward<Args>(args)...));
}

// The width of the terminal that stdout is; 0: it is none.
std::size_t columns_of_stdout();

// A progress bar, shown after half a second and on a terminal only; the
// destructor erases it.
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
