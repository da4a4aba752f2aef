#include "core/io/copy_data.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace ruleengine::io {
namespace {

// What was read for smaller tensors may stay in memory.
constexpr std::int64_t kHeld = 64 * 1024;

bool is_plain(std::string_view location) {
  return !location.empty() && location.front() != '.' &&
         location.find('/') == std::string_view::npos;
}

enum class Taken { kFree, kSame, kOther };

// Whether `path` already holds the very bytes of a file that was found.
Result<Taken> look_at(const std::string& path, ExternalFiles& external,
                      std::string_view location) {
  const std::optional<Existing> old = existing(path);
  if (!old) return Taken::kFree;
  Result<std::uint64_t> size = external.size(location);
  if (!size) return size.error();
  if (!old->regular || old->size != *size) return Taken::kOther;
  if (*size == 0) return Taken::kSame;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Result<OpenFile> original = external.reopen(location);
  if (!original) return original.error();
  if (!file.valid()) return Taken::kOther;
  std::vector<char> a(1 << 20), b(1 << 20);
  for (std::uint64_t at = 0; at < *size;) {
    const auto offset = static_cast<off_t>(at);
    const ssize_t n = ::pread(file.get(), a.data(), a.size(), offset);
    if (n <= 0) return Taken::kOther;
    const ssize_t m = ::pread(original->descriptor.get(), b.data(),
                              static_cast<std::size_t>(n), offset);
    if (m != n || !std::equal(a.begin(), a.begin() + n, b.begin())) {
      return Taken::kOther;
    }
    at += static_cast<std::uint64_t>(n);
  }
  return Taken::kSame;
}

}  // namespace

Status stream_tensor(const ir::Tensor& tensor, const ir::Model& model,
                     OutputFile& file) {
  const Status s =
      ir::stream_bytes(tensor, model.external.get(),
                       [&](Bytes bytes) { return file.write(bytes); });
  if (tensor.byte_size() < kHeld) return s;
  if (const auto* source =
          dynamic_cast<const FileSource*>(model.source.get())) {
    source->release();
  }
  if (const auto* files =
          dynamic_cast<const ExternalFiles*>(model.external.get())) {
    files->release();
  }
  return s;
}

Status DataFiles::write_extents(const DataPlan& plan, ExternalFiles& external,
                                OutputFile& file) {
  std::string_view open_location;
  OpenFile open;
  for (const DataPlan::Extent& extent : plan.extents()) {
    if (open_location != extent.file || !open.descriptor.valid()) {
      Result<OpenFile> opened = external.reopen(extent.file);
      if (!opened) return opened.error();
      open = std::move(*opened);
      open_location = extent.file;
    }
    if (Status s = file.pad(extent.at); !s) return s;
    if (Status s = file.copy(open.descriptor.get(), extent.begin,
                             extent.end - extent.begin);
        !s) {
      return s;
    }
  }
  return {};
}

Status DataFiles::write(const DataPlan& plan, const ir::Model& model,
                        const FileSource* source, ExternalFiles* external,
                        const std::string& path) {
  Result<std::unique_ptr<OutputFile>> out = OutputFile::create(path);
  if (!out) return out.error();
  files_.push_back({std::move(*out), true});
  OutputFile& file = *files_.back().file;
  if (!plan.extents().empty()) {
    if (Status s = write_extents(plan, *external, file); !s) return s;
  }
  for (const DataPlan::Stored& stored : plan.stored()) {
    if (Status s = file.pad(stored.at); !s) return s;
    const ir::Tensor& tensor = *stored.tensor;
    Status s;
    if (source != nullptr && tensor.storage == ir::Storage::kRaw &&
        source->holds(tensor.bytes)) {
      s = file.copy(source->descriptor(), source->offset(tensor.bytes),
                    tensor.bytes.size());
    } else {
      s = stream_tensor(tensor, model, file);
    }
    if (!s) return s;
  }
  return file.pad(plan.size());
}

Result<bool> DataFiles::copy_originals(ExternalFiles& external,
                                       const std::string& folder) {
  std::vector<std::string_view> to_copy;
  for (std::string_view location : external.locations()) {
    if (!is_plain(location)) return false;
    Result<Taken> taken =
        look_at(folder + std::string(location), external, location);
    if (!taken) return taken.error();
    if (*taken == Taken::kOther) return false;
    if (*taken == Taken::kFree) to_copy.push_back(location);
  }
  for (std::string_view location : to_copy) {
    Result<OpenFile> from = external.reopen(location);
    if (!from) return from.error();
    auto out = OutputFile::create(folder + std::string(location));
    if (!out) return out.error();
    files_.push_back({std::move(*out), false});
    if (Status s =
            files_.back().file->copy(from->descriptor.get(), 0, from->size);
        !s) {
      return s.error();
    }
  }
  return true;
}

Status DataFiles::commit(bool sync) {
  for (Pending& pending : files_) {
    if (Status s = pending.file->finish(sync); !s) return s;
  }
  for (Pending& pending : files_) {
    Status s = pending.may_replace ? pending.file->commit()
                                   : pending.file->commit_new();
    if (!s) {
      revert();
      return s;
    }
  }
  return {};
}

void DataFiles::revert() {
  for (Pending& pending : files_) pending.file->revert();
}

void DataFiles::release() {
  for (Pending& pending : files_) pending.file->release();
}

}  // namespace ruleengine::io
