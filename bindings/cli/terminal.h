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
#include <vector>

#include <fmt/format.h>

#include "core/base/diagnostic.h"

namespace ruleengine::cli {

// The exit code of verbs that worked but found a failure: an example that does
// not pass, too little coverage.
inline constexpr int kAnswerIsNo = 1;
int exit_code(ErrorKind kind);
// In the terms of the command line, with a hint which option may help.
Diagnostic with_option(Diagnostic error);
// The option of `run` that may make a rejection go, as a hint; "" if there is
// none. `opset`: the oldest that can express the rewrite, or 0.
std::string option_for(std::int64_t opset, std::string_view tie);

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

// "1 match", "2 matches".
std::string counted(std::size_t count, const char* one, const char* many);

// Aligned columns, the first row is the heading; numbers are aligned right.
// Cells are made printable. With `columns`, cells are wrapped to fit into as
// many.
std::string table(const std::vector<std::vector<std::string>>& rows,
                  std::size_t columns = 0);
// The width of the terminal that stdout is; 0: it is none.
std::size_t columns_of_stdout();

// Breaks at blanks into lines of at most 116 columns, the first one indented by
// `indent`, further ones by `further`.
std::string folded(std::string_view text, std::size_t indent,
                   std::size_t further);

// Indents every line.
std::string indented(std::string_view lines, std::size_t by);

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
