#include "core/io/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/io/leftovers.h"
#include "core/io/read/file_names.h"

namespace ruleengine::io {
namespace {

constexpr std::size_t kBuffer = 256 * 1024;
constexpr std::size_t kReadBuffer = 512 << 10;
// Below this size, a search for holes costs more than it saves.
constexpr std::uint64_t kHoleSearch = 1024 * 1024;

std::string temporary_name(const std::string& result) {
  static std::atomic<unsigned> counter{0};
  return folder_of(result) + temporary_prefix(result) +
         std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
}

bool rename_with(unsigned flags, const std::string& from,
                 const std::string& to) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0;
}

// Names a file that has no name.
bool link_to(int file, const std::string& path) {
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, path.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
}

bool cannot_copy_in_kernel(int error) {
  return error == EXDEV || error == EINVAL || error == ENOSYS ||
         error == EOPNOTSUPP || error == EPERM || error == EBADF ||
         error == EIO;
}

}  // namespace

std::optional<Existing> existing(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return Existing{{info.st_dev, info.st_ino},
                  S_ISREG(info.st_mode),
                  static_cast<std::uint64_t>(info.st_size)};
}

OutputFile::OutputFile(const std::string& result)
    : path_(result), result_(result) {
  buffer_.reserve(kBuffer);
}

Status OutputFile::fail(int error) const {
  return Diagnostic{
      .kind = ErrorKind::kWrite,
      .what = std::string("cannot write the result: ") + std::strerror(error),
      .where = printable(path_)};
}

Result<std::unique_ptr<OutputFile>> OutputFile::create(
    const std::string& path) {
  const std::optional<Existing> old = existing(path);
  if (old && !old->regular) {
    return Diagnostic{.kind = ErrorKind::kWrite,
                      .what = "the result cannot replace what is there",
                      .where = printable(path),
                      .expected = "a regular file, or nothing",
                      .found = "a folder or a device"};
  }
  return create_for(path);
}

Result<std::unique_ptr<OutputFile>> OutputFile::create_for(
    const std::string& result) {
  std::unique_ptr<OutputFile> file(new OutputFile(result));
  if (Status s = file->open(); !s) return s.error();
  return file;
}

Status OutputFile::open() {
  const bool bad = path_.empty() || path_.back() == '/' ||
                   path_.find('\0') != std::string::npos;
  if (bad) return fail(EINVAL);
  file_ = Descriptor(
      ::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  // A file without a name can only be named later by way of /proc.
  if (file_.valid() && ::access("/proc/self/fd", X_OK) == 0) {
    (void)hold(file_.get());
    return {};
  }
  return open_temporary() ? Status() : fail(errno);
}

bool OutputFile::open_temporary() {
  for (;;) {
    const SignalHold until_doomed;
    temporary_ = temporary_name(result_);
    file_ = Descriptor(::open(temporary_.c_str(),
                              O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666));
    if (!file_.valid()) {
      if (errno == EEXIST) continue;
      temporary_.clear();
      return false;
    }
    doomed_ = Doomed::temporary(temporary_);
    // Before it was locked, another run may have taken it for a dead run's file
    // and removed it.
    if (hold(file_.get()) && is_name_of(temporary_.c_str(), file_.get())) {
      return true;
    }
  }
}

OutputFile::~OutputFile() {
  if (!committed_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(Bytes bytes) {
  while (!bytes.empty()) {
    if (buffer_.empty() && bytes.size() >= kBuffer) {
      return write_at(bytes.data(), bytes.size());
    }
    const std::size_t room = kBuffer - buffer_.size();
    const Bytes part = bytes.first(std::min(room, bytes.size()));
    buffer_.insert(buffer_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (buffer_.size() == kBuffer) {
      if (Status s = flush(); !s) return s;
    }
  }
  return {};
}

Status OutputFile::flush() {
  Status s = write_at(buffer_.data(), buffer_.size());
  buffer_.clear();
  return s;
}

Status OutputFile::write_at(const std::byte* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n =
        ::pwrite(file_.get(), data, size, static_cast<off_t>(at_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(n < 0 ? errno : ENOSPC);
    at_ += static_cast<std::uint64_t>(n);
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

Status OutputFile::pad(std::uint64_t to) {
  if (Status s = flush(); !s) return s;
  at_ = std::max(at_, to);  // a hole, until finish() sets the size
  return {};
}

Status OutputFile::copy(int from, std::uint64_t offset, std::uint64_t size) {
  if (Status s = flush(); !s) return s;
  while (size > 0) {
    std::uint64_t data = offset, end = offset + size;
    if (size >= kHoleSearch) {
      const off_t next = ::lseek(from, static_cast<off_t>(offset), SEEK_DATA);
      if (next >= 0) {
        data = std::min(static_cast<std::uint64_t>(next), end);
        const off_t hole = ::lseek(from, static_cast<off_t>(data), SEEK_HOLE);
        if (data < end && hole > next) {
          end = std::min(static_cast<std::uint64_t>(hole), end);
        }
      } else if (errno == ENXIO) {
        // The file ends in a hole, if its size is still the same.
        struct stat info {};
        if (::fstat(from, &info) == 0 &&
            static_cast<std::uint64_t>(info.st_size) >= end) {
          data = end;
        }
      }
    }
    at_ += data - offset;
    if (Status s = copy_extent(from, data, end - data); !s) return s;
    size -= end - offset;
    offset = end;
  }
  return {};
}

Status OutputFile::copy_extent(int from, std::uint64_t offset,
                               std::uint64_t size) {
  // If pages of source and target do not align, blocks cannot be shared, and
  // the kernel copies each page in two parts: read and write take two thirds of
  // that.
  const bool pages_fit = offset % kPage == at_ % kPage;
  while (size > 0 && kernel_copies_ && pages_fit) {
    auto in = static_cast<off_t>(offset), out = static_cast<off_t>(at_);
    const std::size_t step = std::min<std::uint64_t>(size, 1u << 30);
    const ssize_t n = ::copy_file_range(from, &in, file_.get(), &out, step, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (!cannot_copy_in_kernel(errno)) return fail(errno);
      kernel_copies_ = false;
    }
    if (n <= 0) break;  // copy_by_reading notices the end of the file
    at_ += static_cast<std::uint64_t>(n);
    offset += static_cast<std::uint64_t>(n);
    size -= static_cast<std::uint64_t>(n);
  }
  return copy_by_reading(from, offset, size);
}

Status OutputFile::copy_by_reading(int from, std::uint64_t offset,
                                   std::uint64_t size) {
  if (size == 0) return {};
  std::vector<std::byte> buffer(std::min<std::uint64_t>(size, kReadBuffer));
  while (size > 0) {
    std::size_t step = std::min<std::uint64_t>(size, buffer.size());
    // Writes whole pages, except for the first and the last.
    if (step < size) step -= at_ % kPage;
    const ssize_t n =
        ::pread(from, buffer.data(), step, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return Diagnostic{.what =
                            n < 0 ? std::string("cannot read the original: ") +
                                        std::strerror(errno)
                                  : "the original was cut short meanwhile"};
    }
    const auto got = static_cast<std::size_t>(n);
    if (Status s = write_at(buffer.data(), got); !s) return s;
    offset += got;
    size -= got;
  }
  return {};
}

Status OutputFile::finish(bool sync) {
  if (Status s = flush(); !s) return s;
  buffer_ = {};
  if (::ftruncate(file_.get(), static_cast<off_t>(at_)) != 0) {
    return fail(errno);
  }
  if (sync && ::fsync(file_.get()) != 0) return fail(errno);
  return {};
}

Status OutputFile::give_temporary_name() {
  if (!temporary_.empty()) return {};
  for (;;) {
    const SignalHold until_doomed;
    const std::string name = temporary_name(result_);
    if (link_to(file_.get(), name)) {
      temporary_ = name;
      doomed_ = Doomed::temporary(name);
      return {};
    }
    if (errno != EEXIST) return fail(errno);
  }
}

// Returns errno, or 0.
int OutputFile::move_to_free(const std::string& path) {
  if (temporary_.empty()) return link_to(file_.get(), path) ? 0 : errno;
  if (rename_with(RENAME_NOREPLACE, temporary_, path)) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Where rename cannot refuse to replace, an empty file reserves the name
  // first.
  const SignalHold until_replaced;
  const Descriptor empty(
      ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
  if (!empty.valid()) return errno;
  if (::rename(temporary_.c_str(), path.c_str()) == 0) return 0;
  const int error = errno;
  ::unlink(path.c_str());
  return error;
}

Result<bool> OutputFile::take(const std::string& path) {
  path_ = path;
  const int error = move_to_free(path);
  if (error == EEXIST) return false;
  if (error != 0) return fail(error).error();
  doomed_.drop();
  temporary_.clear();
  committed_ = true;
  return true;
}

// Locks the file that is about to be replaced, or just was.
void OutputFile::hold_replaced() {
  const std::string& name = keeps_old_ ? temporary_ : path_;
  if (replaced_.valid() && is_name_of(name.c_str(), replaced_.get())) return;
  replaced_ = Descriptor(
      ::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (replaced_.valid()) (void)hold(replaced_.get());
}

// Every step either finds the name free and takes it, or keeps the file that it
// replaces. If neither works, another run was faster, and this begins again.
bool OutputFile::replace() {
  for (;;) {
    // Exchanged, so that revert() can bring the old file back.
    if (rename_with(RENAME_EXCHANGE, temporary_, path_)) {
      keeps_old_ = true;
      return true;
    }
    if (errno == EINVAL || errno == ENOSYS) return replace_in_steps();
    if (errno != ENOENT) return false;
    if (rename_with(RENAME_NOREPLACE, temporary_, path_)) return true;
    if (errno != EEXIST) return false;
  }
}

// Where two names cannot be exchanged, the old file gets a third name
// meanwhile.
bool OutputFile::replace_in_steps() {
  const std::string kept = temporary_name(result_);
  keeps_old_ = ::link(path_.c_str(), kept.c_str()) == 0;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    if (keeps_old_) ::unlink(kept.c_str());
    keeps_old_ = false;
    errno = error;
    return false;
  }
  temporary_ = kept;
  return true;
}

Status OutputFile::commit() {
  if (Status s = give_temporary_name(); !s) return s;
  const SignalHold whole;
  hold_replaced();
  if (!replace()) return fail(errno);
  doomed_.drop();
  committed_ = true;
  if (keeps_old_) hold_replaced();
  return {};
}

bool OutputFile::has_name() const {
  return committed_ && is_name_of(path_.c_str(), file_.get());
}

void OutputFile::revert() {
  if (!committed_) return;
  if (!has_name()) return release();
  if (keeps_old_) {
    (void)::rename(temporary_.c_str(), path_.c_str());
  } else {
    ::unlink(path_.c_str());
  }
  keeps_old_ = false;
}

void OutputFile::release() {
  if (!keeps_old_) return;
  keeps_old_ = false;
  replaced_ = Descriptor();
  remove_replaced(temporary_, result_);
}

}  // namespace ruleengine::io
