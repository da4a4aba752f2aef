// Descriptor: owns a file descriptor and closes it. Movable, not thread-safe.
// And locks of files.
#pragma once

#include <unistd.h>

#include <utility>

namespace ruleengine::io {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& from) noexcept {
    std::swap(fd_, from.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Holding files: a live run has a shared lock on every file that it wrote or
// needs; the kernel drops the locks of a dead process. So a process that gets
// an exclusive lock knows that nobody needs the file. Where the file system has
// no locks, nobody gets an exclusive one, and nothing is removed. Locks belong
// to the descriptor. Thread-safe. All of these run in a signal handler too, so
// they are bare system calls.

// A shared lock. False when another process is about to remove the file.
bool hold(int file);
// An exclusive lock; false also where there are no locks.
bool hold_alone(int file);
void let_go_of(int file);

// Whether `path` names this very file, not a symbolic link to it.
bool is_name_of(const char* path, int file);

}  // namespace ruleengine::io
