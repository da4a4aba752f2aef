// Holding files: a live run has a shared lock on every file that it wrote or
// needs; the kernel drops the locks of a dead process. So a process that gets
// an exclusive lock knows that nobody needs the file. Where the file system has
// no locks, nobody gets an exclusive one, and nothing is removed. Locks belong
// to the descriptor. Thread-safe.
#pragma once

#include <string>

namespace ruleengine::io {

// A shared lock. False when another process is about to remove the file.
bool hold(int file);
// An exclusive lock; false also where there are no locks.
bool hold_alone(int file);
void let_go_of(int file);

// Whether `path` names this very file, not a symbolic link to it.
bool is_name_of(const char* path, int file);

}  // namespace ruleengine::io
