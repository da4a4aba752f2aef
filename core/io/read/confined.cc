#include "core/io/read/confined.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ruleengine::io {
namespace {

// O_NONBLOCK: opening a FIFO must not block before we see that it is one.
constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

int open_beneath(int folder, const std::string& path) {
  open_how how = {};
  how.flags = kFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  long fd;
  int tries = 0;
  do {  // EAGAIN: a folder was renamed meanwhile
    fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  } while (fd < 0 && (errno == EINTR || errno == EAGAIN) && ++tries < 100);
  return static_cast<int>(fd);
}

// For kernels and containers without openat2: opens one component at a time.
int open_by_steps(int folder, const std::string& path) {
  Descriptor at;
  int parent = folder;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = path.find('/', begin);
    const bool last = end == std::string::npos;
    const std::string step =
        path.substr(begin, last ? std::string::npos : end - begin);
    if (!step.empty() && step != ".") {
      const int flags = kFlags | O_NOFOLLOW | (last ? 0 : O_DIRECTORY);
      const int fd = ::openat(parent, step.c_str(), flags);
      if (fd < 0 || last) return fd;
      at = Descriptor(fd);
      parent = at.get();
    } else if (last) {
      errno = EISDIR;
      return -1;
    }
    begin = end + 1;
  }
}

Diagnostic fault(std::string what, std::string_view location,
                 std::string hint = {}) {
  return {.what = std::move(what),
          .expected = "a regular file inside the model's folder",
          .found = quoted_name(location),
          .hint = std::move(hint)};
}

Diagnostic open_fault(int error, std::string_view location) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return fault("external data is missing", location,
                   "keep the data file beside the model, under the name that "
                   "the model gives it");
    case ELOOP:
      return fault("external data lies behind a symbolic link", location,
                   "put the file itself into the model's folder");
    case EXDEV:
      return fault("external data lies outside the model's folder", location);
    case EBADF:  // there is no folder
      return fault("a model in memory refers to external data", location,
                   "give the folder of the data, or its bytes");
    default:
      return fault(std::string("external data cannot be opened: ") +
                       std::strerror(error),
                   location);
  }
}

}  // namespace

std::string location_fault(std::string_view location) {
  if (location.empty()) return "external data has no location";
  if (location.find('\0') != std::string_view::npos) {
    return "the location of external data contains a NUL byte";
  }
  if (location.front() == '/') {
    return "external data lies outside the model's folder";
  }
  for (std::size_t begin = 0; begin <= location.size();) {
    std::size_t end = location.find('/', begin);
    if (end == std::string_view::npos) end = location.size();
    if (location.substr(begin, end - begin) == "..") {
      return "external data lies outside the model's folder";
    }
    begin = end + 1;
  }
  return {};
}

Result<OpenFile> open_confined(int folder, std::string_view location,
                               Walk walk) {
  if (std::string what = location_fault(location); !what.empty()) {
    return fault(std::move(what), location);
  }
  const std::string path(location);
  int fd = walk == Walk::kKernel ? open_beneath(folder, path) : -1;
  if (walk == Walk::kSteps ||
      (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))) {
    fd = open_by_steps(folder, path);
  }
  if (fd < 0) return open_fault(errno, location);
  OpenFile file;
  file.descriptor = Descriptor(fd);
  struct stat info;
  if (::fstat(fd, &info) != 0) return open_fault(errno, location);
  if (!S_ISREG(info.st_mode)) {
    return fault("external data is not a regular file", location);
  }
  if (info.st_nlink > 1) {
    return fault("external data has more than one hard link", location,
                 "a second name may lead outside the folder; copy the file");
  }
  file.id = {info.st_dev, info.st_ino};
  file.size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

}  // namespace ruleengine::io
