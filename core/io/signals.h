// Signals while a result is written. remove_names_on_signals() (for programs
// that own their process) makes SIGTERM, SIGINT, SIGHUP, SIGQUIT and SIGPIPE
// take away what has a name and is not whole before they end the process as
// they would have. All thread-safe.
#ifndef RULEENGINE_CORE_IO_SIGNALS_H_
#define RULEENGINE_CORE_IO_SIGNALS_H_

#include <cstddef>
#include <memory>
#include <string>

namespace ruleengine::io {

// Installs the handlers, but for signals that the process ignores, and has
// SIGXFSZ ignored: what grows too large is an error of write().
void remove_names_on_signals();

// A name that goes when a signal ends the process. It must be dropped before
// somebody else takes the name away, or makes it stay.
class Doomed {
 public:
  struct Name;

  Doomed() = default;
  // A temporary name.
  static Doomed temporary(const std::string& path);
  // The data file `file` of a result at `result` that is still to come. It
  // stays where another run has it too, or has put its own result there since:
  // that may refer to it.
  static Doomed data(const std::string& path, int file,
                     const std::string& result);
  ~Doomed() { drop(); }
  Doomed(Doomed&& from) noexcept;
  Doomed& operator=(Doomed&& from) noexcept;
  void drop();

 private:
  explicit Doomed(std::unique_ptr<Name> name);

  std::size_t slot_ = kNone;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
};

// While one lives, signals wait: a result takes its name and the older one
// goes, or neither.
class SignalHold {
 public:
  SignalHold();
  ~SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
};

// While one lives, exceeding the limit on file sizes (RLIMIT_FSIZE) is an error
// of write() for this thread, and not a signal that ends the process.
class FileSizeSignalBlock {
 public:
  FileSizeSignalBlock();
  ~FileSizeSignalBlock();
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

 private:
  bool was_blocked_ = false;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_SIGNALS_H_
