// ExternalFiles: the files that hold the data of a model's tensors: beside it,
// or given by the caller as bytes. A file is found (it exists, may be read, is
// long enough) at load without reading a byte. It is mapped when its bytes are
// first needed, after a check that it is still the same file. Belongs to one
// Model and its copies. Thread-safe once the model is loaded; spans live as
// long as this object.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/io/load.h"
#include "core/io/read/confined.h"
#include "core/io/read/mapping.h"
#include "core/ir/literal.h"
#include "core/wire/wire.h"

namespace ruleengine::io {

class ExternalFiles : public ir::ExternalData {
 public:
  // Asks `give`, which may be empty, then looks below `directory` unless that
  // is "". Renaming that folder has no effect.
  static Result<std::unique_ptr<ExternalFiles>> open(
      const std::string& directory, GiveData give = {});

  // Whether a file that is missing is an error, as it is by default. If not, no
  // size is too large for it, and reading it fails.
  void needs_files(bool needs) { needs_files_ = needs; }
  // The size of the file at `location`; the file is looked up and checked once.
  Result<std::uint64_t> size(std::string_view location);

  Result<std::span<const std::byte>> read(const ir::ExternalRef& ref,
                                          std::int64_t length) override;

  // The bytes that the caller gave for the location; none: a file has them.
  std::optional<Bytes> given(std::string_view location);
  bool any_given() const;
  // Opens the file again for copying, if it is still the one that was found.
  Result<OpenFile> reopen(std::string_view location);

  // The folder, and whether a file is one of those found so far.
  int folder() const { return folder_.get(); }
  FileId folder_id() const { return folder_id_; }
  bool owns(FileId id) const;
  bool faulted() const;
  // See Mapping::release.
  void release() const;

  // Records an encoded TensorProto with external data. sort_uses() sorts the
  // records by address.
  void note_use(Bytes tensor) { uses_.push_back(tensor.data()); }
  void sort_uses();
  bool any_use_in(Bytes range) const;
  bool any_use() const { return !uses_.empty(); }

  // The locations found so far, in that order; and those of missing files.
  std::vector<std::string_view> locations() const;
  std::vector<std::string_view> missing() const;

 private:
  struct File {
    std::string location;
    FileId id;
    std::uint64_t size = 0;
    bool is_missing = false;
    std::optional<Bytes> given;
    std::unique_ptr<Mapping> mapping;
  };

  ExternalFiles(Descriptor folder, FileId id, GiveData give)
      : folder_(std::move(folder)), folder_id_(id), give_(std::move(give)) {}
  // With `mutex_` held.
  Result<File*> find(std::string_view location);
  Result<OpenFile> open_again(std::string_view location);
  bool may_be_missing(std::string_view location) const;

  Descriptor folder_;
  FileId folder_id_;
  GiveData give_;
  mutable std::mutex mutex_;
  bool needs_files_ = true;
  std::vector<std::unique_ptr<File>> files_;
  std::unordered_map<std::string_view, File*> by_location_;
  std::vector<const std::byte*> uses_;
};

}  // namespace ruleengine::io
