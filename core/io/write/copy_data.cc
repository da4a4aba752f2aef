#include "core/io/write/copy_data.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "core/io/leftovers.h"
#include "core/io/load.h"
#include "core/io/read/data_users.h"
#include "core/io/read/file_names.h"
#include "core/io/write/same_bytes.h"

namespace ruleengine::io {
namespace {

// After smaller tensors the memory that was read is not released.
constexpr std::int64_t kHeld = 64 * 1024;

bool is_plain(std::string_view location) {
  return !location.empty() && location.front() != '.' &&
         location.find('/') == std::string_view::npos;
}

bool is_free(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) != 0;
}

// Opens and locks the regular file of that size at `path`; none if it differs.
Descriptor open_held(const std::string& path, std::uint64_t size,
                     const ExternalFiles* external) {
  Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!file.valid() || ::fstat(file.get(), &info) != 0) return {};
  const bool fits = S_ISREG(info.st_mode) && info.st_nlink == 1 &&
                    static_cast<std::uint64_t>(info.st_size) == size;
  // Whether it is the original itself, not a copy.
  const bool original =
      external != nullptr && external->owns({info.st_dev, info.st_ino});
  if (!fits || original || !hold(file.get()) ||
      !is_name_of(path.c_str(), file.get())) {
    return {};
  }
  return file;
}

Status write_extents(const DataPlan& plan, ExternalFiles& external,
                     ByteSink& file) {
  std::string_view open_location;
  OpenFile open;
  for (const DataPlan::Extent& extent : plan.extents()) {
    const std::uint64_t size = extent.end - extent.begin;
    if (Status s = file.pad(extent.at); !s) return s;
    if (const auto given = external.given(extent.file)) {
      Status s = file.write(given->subspan(extent.begin, size));
      if (!s) return s;
      continue;
    }
    if (open_location != extent.file || !open.descriptor.valid()) {
      Result<OpenFile> opened = external.reopen(extent.file);
      if (!opened) return opened.error();
      open = std::move(*opened);
      open_location = extent.file;
    }
    Status s = file.copy(open.descriptor.get(), extent.begin, size);
    if (!s) return s;
  }
  return {};
}

}  // namespace

Status stream_tensor(const ir::Literal& tensor, const ir::Model& model,
                     ByteSink& file) {
  const Status s =
      ir::stream_bytes(tensor, model.external.get(),
                       [&](Bytes bytes) { return file.write(bytes); });
  if (tensor.byte_size() < kHeld) return s;
  release_memory(model);
  return s;
}

Status write_contents(const DataContents& data, ByteSink& file) {
  if (!data.plan.extents().empty()) {
    if (Status s = write_extents(data.plan, *data.external, file); !s) return s;
  }
  for (const DataPlan::Stored& stored : data.plan.stored()) {
    if (Status s = file.pad(stored.at); !s) return s;
    const ir::Literal& tensor = *stored.tensor;
    Status s;
    if (data.source != nullptr && tensor.storage == ir::Storage::kRaw &&
        data.source->holds(tensor.bytes)) {
      s = file.copy(data.source->descriptor(),
                    data.source->offset(tensor.bytes), tensor.bytes.size());
    } else {
      s = stream_tensor(tensor, data.model, file);
    }
    if (!s) return s;
  }
  return file.pad(data.plan.size());
}

// Finds the file at `path`, if it holds exactly these bytes.
Result<Descriptor> DataFiles::find(const std::string& path,
                                   const DataContents& data) {
  Descriptor file = open_held(path, data.plan.size(), data.external);
  if (!file.valid()) return Descriptor();
  SameBytes there(file.get());
  Status s = write_contents(data, there);
  if (!there.same()) return Descriptor();
  if (!s) return s.error();
  return file;
}

// Looks for a file with these bytes among the names of the result; if there is
// none, `free` becomes the first free name.
Result<bool> DataFiles::find_any(const DataContents& data, std::string& free) {
  std::vector<std::string> tried;
  const auto use = [&](const std::string& path) -> Result<bool> {
    tried.push_back(path);
    Result<Descriptor> found = find(path, data);
    if (!found) return found.error();
    if (!found->valid()) return false;
    files_.clear();
    files_.push_back({.path = path, .written = {}, .found = std::move(*found)});
    return true;
  };
  for (const std::string& location : data_locations(result_)) {
    if (!is_data_of(result_, location)) continue;
    Result<bool> used = use(folder_of(result_) + plain_location(location));
    if (!used || *used) return used;
  }
  for (unsigned number = 1;; ++number) {
    free = data_path(result_, number);
    if (is_free(free)) return false;
    if (std::ranges::find(tried, free) != tried.end()) continue;
    Result<bool> used = use(free);
    if (!used || *used) return used;
  }
}

Result<std::string> DataFiles::prepare(const DataContents& data) {
  std::string free;
  Result<bool> there = find_any(data, free);
  if (!there) return there.error();
  if (*there) return files_[0].path;
  if (files_.empty()) {
    auto file = OutputFile::create_for(result_);
    if (!file) return file.error();
    files_.push_back({.path = {}, .written = std::move(*file), .found = {}});
    OutputFile& out = *files_[0].written;
    if (Status s = write_contents(data, out); !s) return s.error();
    if (Status s = out.finish(sync_); !s) return s.error();
  }
  files_[0].path = free;
  return free;
}

Result<bool> DataFiles::copy_originals(ExternalFiles& external) {
  std::vector<DataFile> files;
  for (std::string_view location : external.locations()) {
    if (!is_plain(location) || external.given(location)) return false;
    DataFile& file = files.emplace_back();
    file.path = folder_of(result_) + std::string(location);
    if (is_free(file.path)) continue;
    Result<OpenFile> original = external.reopen(location);
    if (!original) return original.error();
    file.found = open_held(file.path, original->size, nullptr);
    SameBytes there(file.found.get());
    if (!file.found.valid() ||
        !there.copy(original->descriptor.get(), 0, original->size)) {
      return false;
    }
  }
  for (DataFile& file : files) {
    if (file.found.valid()) continue;
    Result<OpenFile> from = external.reopen(file_of(file.path));
    if (!from) return from.error();
    auto out = OutputFile::create_for(result_);
    if (!out) return out.error();
    file.written = std::move(*out);
    Status s = file.written->copy(from->descriptor.get(), 0, from->size);
    if (s) s = file.written->finish(sync_);
    if (!s) return s.error();
  }
  files_ = std::move(files);
  return true;
}

Result<bool> DataFiles::take_names() {
  for (DataFile& file : files_) {
    if (file.written == nullptr) continue;
    file.doomed = Doomed::data(file.path, file.written->descriptor(), result_);
    Result<bool> taken = file.written->take(file.path);
    file.taken = taken && *taken;
    if (file.taken) continue;
    file.doomed.drop();
    (void)give_back();
    return taken;
  }
  return true;
}

void DataFiles::let_go() {
  for (DataFile& file : files_) {
    file.doomed.drop();
    let_go_of(file.written ? file.written->descriptor() : file.found.get());
  }
}

bool DataFiles::give_back() {
  let_go();
  bool all = true;
  for (DataFile& file : files_) {
    if (!std::exchange(file.taken, false)) continue;
    all &= remove_unused(file.path) != Removal::kHeld;
  }
  return all;
}

}  // namespace ruleengine::io
