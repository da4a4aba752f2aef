// Child: another program that this one started. A signal that ends this
// program ends it too. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/io/signals.h"

namespace ruleengine::api {

class Child {
 public:
  Child() = default;
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Starts the program arguments[0], found as the shell finds it, with these
  // files as standard input, output and error. 0, or the number of the error.
  int start(const std::vector<std::string>& arguments, int in, int out,
            int err);
  // The status as waitpid() gives it, also when asked again; none if the
  // program still runs then. Ends what an ended program left running.
  std::optional<int> wait_until(const Deadline& until);
  // Ends the program and those that it started.
  void kill();

 private:
  pid_t id_ = 0;  // 0: not running
  io::Doomed doomed_;
  int status_ = -1;
};

// "exit code 1" or "signal 9 (Killed)".
std::string status_text(int status);

// Whether the status of a program says that it was not found.
bool is_missing(int status);

}  // namespace ruleengine::api
