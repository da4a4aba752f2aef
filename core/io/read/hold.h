// Holding files: a live run has a lock on every file that it wrote or counts
// on, whatever its name, and the kernel takes the locks of a dead one. So who
// gets a file for itself alone knows that nobody needs it. Where the file
// system has no locks nobody ever gets that, and nothing is removed. Locks
// belong to the descriptor. Thread-safe.
#ifndef RULEENGINE_CORE_IO_READ_HOLD_H_
#define RULEENGINE_CORE_IO_READ_HOLD_H_

#include <string>

namespace ruleengine::io {

// Beside others. False when somebody is about to remove the file.
bool hold(int file);
// Alone; false also where there are no locks.
bool hold_alone(int file);
void let_go_of(int file);

// Whether `path` is a name of this very file, not of a link to it.
bool is_name_of(const char* path, int file);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_READ_HOLD_H_
