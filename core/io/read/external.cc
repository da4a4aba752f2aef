#include "core/io/read/external.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

namespace ruleengine::io {
namespace {

Diagnostic changed(std::string_view location) {
  return {.what = "external data changed while the model was open",
          .expected = "the file that was there at load",
          .found = quoted_name(location)};
}

}  // namespace

Result<std::unique_ptr<ExternalFiles>> ExternalFiles::open(
    const std::string& directory, GiveData give) {
  if (directory.empty()) {
    return std::unique_ptr<ExternalFiles>(
        new ExternalFiles(Descriptor(), {}, std::move(give)));
  }
  const int fd = ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    return Diagnostic{
        .what = std::string("cannot open the folder of the model: ") +
                std::strerror(errno),
        .where = printable(directory)};
  }
  return std::unique_ptr<ExternalFiles>(new ExternalFiles(
      Descriptor(fd), {info.st_dev, info.st_ino}, std::move(give)));
}

Result<ExternalFiles::File*> ExternalFiles::find(std::string_view location) {
  if (auto it = by_location_.find(location); it != by_location_.end()) {
    return it->second;
  }
  std::optional<Bytes> given;
  if (give_) {
    auto answer = give_(location);
    if (!answer) return answer.error();
    given = *answer;
  }
  Result<OpenFile> file =
      given ? OpenFile() : open_confined(folder_.get(), location);
  if (!file && !may_be_missing(location)) return file.error();
  files_.push_back(std::make_unique<File>());
  File* added = files_.back().get();
  added->location = std::string(location);
  added->given = given;
  if (given) {
    added->size = given->size();
  } else if (file) {
    added->id = file->id;
    added->size = file->size;
  } else {
    added->is_missing = true;
    added->size = std::numeric_limits<std::uint64_t>::max();
  }
  by_location_.emplace(added->location, added);
  return added;
}

bool ExternalFiles::may_be_missing(std::string_view location) const {
  return !needs_files_ && location_fault(location).empty() &&
         ::faccessat(folder_.get(), std::string(location).c_str(), F_OK,
                     AT_SYMLINK_NOFOLLOW) != 0 &&
         errno == ENOENT;
}

Result<std::uint64_t> ExternalFiles::size(std::string_view location) {
  const std::lock_guard lock(mutex_);
  Result<File*> file = find(location);
  if (!file) return file.error();
  return (*file)->size;
}

std::optional<Bytes> ExternalFiles::given(std::string_view location) {
  const std::lock_guard lock(mutex_);
  const Result<File*> file = find(location);
  return file ? (*file)->given : std::nullopt;
}

bool ExternalFiles::any_given() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      files_, [](const auto& f) { return f->given.has_value(); });
}

Result<OpenFile> ExternalFiles::reopen(std::string_view location) {
  const std::lock_guard lock(mutex_);
  return open_again(location);
}

Result<OpenFile> ExternalFiles::open_again(std::string_view location) {
  Result<File*> known = find(location);
  if (!known) return known.error();
  Result<OpenFile> file = open_confined(folder_.get(), location);
  if (!file) return file.error();
  if (file->id != (*known)->id || file->size < (*known)->size) {
    return changed(location);
  }
  return file;
}

Result<std::span<const std::byte>> ExternalFiles::read(
    const ir::ExternalRef& ref, std::int64_t length) {
  const std::lock_guard lock(mutex_);
  Result<File*> file = find(ref.location);
  if (!file) return file.error();
  const std::uint64_t size = (*file)->size;
  const auto offset = static_cast<std::uint64_t>(ref.offset);
  if (ref.offset < 0 || length < 0 || offset > size ||
      static_cast<std::uint64_t>(length) > size - offset) {
    return Diagnostic{.what = "external data is too short",
                      .where = quoted_name(ref.location),
                      .expected = std::to_string(length) + " bytes at " +
                                  std::to_string(ref.offset),
                      .found = std::to_string(size) + " bytes"};
  }
  if ((*file)->is_missing) return open_again(ref.location).error();
  const auto size_of_all = static_cast<std::size_t>(length);
  if ((*file)->given) return (*file)->given->subspan(offset, size_of_all);
  if (!(*file)->mapping) {
    Result<OpenFile> opened = open_again(ref.location);
    if (!opened) return opened.error();
    Result<std::unique_ptr<Mapping>> mapping =
        Mapping::map(opened->descriptor.get(), size);
    if (!mapping) return mapping.error();
    (*file)->mapping = std::move(*mapping);
  }
  return (*file)->mapping->bytes().subspan(offset, size_of_all);
}

bool ExternalFiles::owns(FileId id) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(files_,
                             [&](const auto& f) { return f->id == id; });
}

void ExternalFiles::release() const {
  const std::lock_guard lock(mutex_);
  for (const auto& file : files_) {
    if (file->mapping) file->mapping->release();
  }
}

bool ExternalFiles::faulted() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(files_, [](const auto& f) {
    return f->mapping && f->mapping->faulted();
  });
}

void ExternalFiles::sort_uses() { std::ranges::sort(uses_); }

bool ExternalFiles::any_use_in(Bytes range) const {
  const auto it = std::ranges::lower_bound(uses_, range.data());
  return it != uses_.end() && std::less<>()(*it, range.data() + range.size());
}

std::vector<std::string_view> ExternalFiles::missing() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string_view> out;
  for (const auto& file : files_) {
    if (file->is_missing) out.push_back(file->location);
  }
  return out;
}

std::vector<std::string_view> ExternalFiles::locations() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string_view> out;
  for (const auto& file : files_) out.push_back(file->location);
  return out;
}

}  // namespace ruleengine::io
