#include "core/io/leftovers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <system_error>
#include <vector>

#include "core/base/folder.h"
#include "core/io/descriptor.h"
#include "core/io/read/data_users.h"
#include "core/io/read/file_names.h"

namespace ruleengine::io {
namespace {

// Opens a regular file under an exclusive lock; none, with EWOULDBLOCK, if
// another process has it locked.
Descriptor open_alone(const std::string& path) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  // Some file systems lock only files that are open for writing.
  int fd = ::open(path.c_str(), kFlags | O_RDWR);
  if (fd < 0) fd = ::open(path.c_str(), kFlags | O_RDONLY);
  Descriptor file(fd);
  struct stat info;
  if (!file.valid() || ::fstat(fd, &info) != 0) return {};
  errno = EINVAL;
  if (!S_ISREG(info.st_mode) || !hold_alone(fd)) return {};
  errno = EWOULDBLOCK;  // another process was faster
  return is_name_of(path.c_str(), fd) ? std::move(file) : Descriptor();
}

// The model stays while some of its data is locked: it tells the next run that
// this data is ours.
void remove_model(const std::string& path, const std::string& result) {
  const std::string folder = folder_of(result);
  bool all = true;
  for (const std::string& location : data_locations(path)) {
    if (!is_data_of(result, location)) continue;
    all &= remove_unused(folder + plain_location(location)) != Removal::kHeld;
  }
  if (all) ::unlink(path.c_str());
}

}  // namespace

Removal remove_unused(const std::string& data) {
  struct stat info;
  if (::lstat(data.c_str(), &info) != 0) return Removal::kGone;
  // We never make such files.
  if (!S_ISREG(info.st_mode) || info.st_nlink > 1) return Removal::kUsed;
  const Descriptor file = open_alone(data);
  if (!file.valid()) return Removal::kHeld;
  if (is_used_in(folder_of(data), file_of(data))) return Removal::kUsed;
  ::unlink(data.c_str());
  return Removal::kGone;
}

void remove_replaced(const std::string& temporary, const std::string& result) {
  const Descriptor file = open_alone(temporary);
  if (file.valid()) {
    remove_model(temporary, result);
  } else if (errno != EWOULDBLOCK) {
    ::unlink(temporary.c_str());  // there are no locks
  }
  // Otherwise the run that wrote it is about to end and removes it itself.
}

void remove_leftovers(std::span<const std::string> results) {
  std::map<std::string, std::vector<std::string>> folders;
  for (const std::string& result : results) {
    const std::string folder = folder_of(result);
    const std::string prefix = temporary_prefix(result);
    const auto [names, is_new] = folders.try_emplace(folder);
    std::error_code ignored;
    if (is_new) names->second = names_in(folder, ignored);
    for (const std::string& name : names->second) {
      if (!name.starts_with(prefix)) continue;
      const std::string path = folder + name;
      const Descriptor file = open_alone(path);
      if (file.valid()) remove_model(path, result);
    }
  }
}

}  // namespace ruleengine::io
