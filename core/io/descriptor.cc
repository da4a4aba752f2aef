#include "core/io/descriptor.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace ruleengine::io {

bool hold(int file) {
  return ::flock(file, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool hold_alone(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0; }

void let_go_of(int file) { ::flock(file, LOCK_UN); }

bool is_name_of(const char* path, int file) {
  struct stat named, opened;
  return ::lstat(path, &named) == 0 && ::fstat(file, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

}  // namespace ruleengine::io
