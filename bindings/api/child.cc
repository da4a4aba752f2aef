#include "bindings/api/child.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

extern char** environ;

namespace ruleengine::api {

int Child::start(const std::vector<std::string>& arguments, int in, int out,
                 int err) {
  std::vector<std::string> texts = arguments;
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  // A group of its own, so that kill() reaches what it starts.
  posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  ::posix_spawnattr_setpgroup(&how, 0);
  // As in a shell: this program ignores it, or has it blocked in some threads.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  ::posix_spawnattr_setsigdefault(&how, &signals);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &signals);
  sigdelset(&signals, SIGXFSZ);
  ::posix_spawnattr_setsigmask(&how, &signals);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP |
                                       POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETSIGMASK);
  const io::SignalHold hold;
  const int error =
      ::posix_spawnp(&id_, pointers[0], &files, &how, pointers.data(), environ);
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    id_ = 0;
  } else {
    doomed_ = io::Doomed::processes(id_);
  }
  return error;
}

std::optional<int> Child::wait_until(const Deadline& until) {
  using std::chrono::milliseconds;
  for (milliseconds pause(1);; pause = std::min(pause * 2, milliseconds(20))) {
    siginfo_t ended = {};
    // Not yet reaped, so that no other process has its number meanwhile.
    const bool is_ours =
        id_ != 0 && (::waitid(P_PID, static_cast<id_t>(id_), &ended,
                              WEXITED | WNOHANG | WNOWAIT) == 0 ||
                     errno == EINTR);
    if (!is_ours || ended.si_pid != 0) kill();
    if (id_ == 0) return status_;
    if (until.is_over()) return std::nullopt;
    std::this_thread::sleep_for(pause);
  }
}

void Child::kill() {
  if (id_ == 0) return;
  ::kill(-id_, SIGKILL);
  doomed_.drop();
  status_ = -1;
  while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
  }
  id_ = 0;
}

std::string status_text(int status) {
  if (WIFEXITED(status)) {
    return "exit code " + std::to_string(WEXITSTATUS(status));
  }
  if (!WIFSIGNALED(status)) return "an unknown status";
  const int signal = WTERMSIG(status);
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

bool is_missing(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == 127;
}

}  // namespace ruleengine::api
