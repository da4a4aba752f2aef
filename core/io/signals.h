// Signals while something is unfinished. After clean_up_on_signals() (for
// programs that own their process), SIGTERM, SIGINT, SIGHUP, SIGQUIT and
// SIGPIPE remove what is Doomed, and then end the process as usual. All
// thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

namespace ruleengine::io {

// Installs the handlers, except for signals that the process ignores. Ignores
// SIGXFSZ, so that a file that grows too large is an error of write().
void clean_up_on_signals();

// What is removed when a signal ends the process. This must be dropped before
// other code removes it or decides to keep it.
class Doomed {
 public:
  struct Entry;

  Doomed() = default;
  // The temporary name of a file.
  static Doomed temporary(const std::string& path);
  // The data file `file` of an unfinished result at `result`. It is kept if
  // another run uses it too, or has replaced `result` meanwhile: that result
  // may refer to it.
  static Doomed data(const std::string& path, int file,
                     const std::string& result);
  // A folder, with all that is in it.
  static Doomed folder(const std::string& path);
  // The processes of this group; they are killed first.
  static Doomed processes(pid_t group);
  ~Doomed() { drop(); }
  Doomed(Doomed&& from) noexcept;
  Doomed& operator=(Doomed&& from) noexcept;
  void drop();

 private:
  explicit Doomed(Entry entry);

  std::atomic<Entry*>* slot_ = nullptr;
};

// While one exists, signals are deferred, so that the step from the old result
// to the new one happens completely or not at all.
class SignalHold {
 public:
  SignalHold();
  ~SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
};

// While one exists, exceeding the limit on file sizes (RLIMIT_FSIZE) is an
// error of write() in this thread instead of a signal that ends the process.
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
