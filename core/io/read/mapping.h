// Mapping: a file mapped read-only, and the guard against its risk: access to a
// file that was cut short while it is mapped raises SIGBUS. After
// guard_mapping_faults() (load.h) such an access reads zeros instead, and the
// mapping records it; load, save and check_intact() then report it. All
// thread-safe; the handler passes on faults that are not ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/io/descriptor.h"
#include "core/io/read/confined.h"
#include "core/ir/model.h"
#include "core/wire/wire.h"

namespace ruleengine::io {

class Mapping {
 public:
  // Maps the first `size` bytes; the descriptor may be closed afterwards.
  static Result<std::unique_ptr<Mapping>> map(int fd, std::uint64_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  Bytes bytes() const { return {data_, size_}; }
  // Whether an access found part of the file missing.
  bool faulted() const;
  // Releases the memory of pages that were read. The file still has their
  // content; a later access loads them again.
  void release() const;

 private:
  Mapping(std::byte* data, std::size_t size);

  std::byte* data_;
  std::size_t size_;
  std::size_t slot_;  // in the guard's table, if any
};

// The source of a loaded model: a mapped file, a buffer, or memory of others
// (no descriptor).
class FileSource : public ir::Source {
 public:
  FileSource(OpenFile file, std::unique_ptr<Mapping> mapping)
      : file_(std::move(file)), mapping_(std::move(mapping)) {}
  explicit FileSource(std::string buffer)
      : buffer_(std::move(buffer)), bytes_(as_bytes(buffer_)) {}
  explicit FileSource(Bytes borrowed) : bytes_(borrowed) {}

  Bytes bytes() const override { return mapping_ ? mapping_->bytes() : bytes_; }
  bool is_file() const { return file_.descriptor.valid(); }
  // Whether these bytes are a view into the file, and at which offset they
  // start.
  bool holds(Bytes bytes) const {
    const std::less<> before;
    const Bytes all = this->bytes();
    return is_file() && !before(bytes.data(), all.data()) &&
           before(bytes.data(), all.data() + all.size());
  }
  std::uint64_t offset(Bytes bytes) const {
    return static_cast<std::uint64_t>(bytes.data() - this->bytes().data());
  }
  int descriptor() const { return file_.descriptor.get(); }
  FileId id() const { return file_.id; }
  bool faulted() const { return mapping_ && mapping_->faulted(); }
  void release() const {
    if (mapping_) mapping_->release();
  }

 private:
  OpenFile file_;
  std::unique_ptr<Mapping> mapping_;
  std::string buffer_;
  Bytes bytes_;  // without a mapping
};

// Releases a mapped file's memory now and then while a reader goes through it.
// The bytes that are read are few and far apart, but a kernel that maps whole
// folios of its cache loads up to 2 MiB with each of them.
class Passage {
 public:
  explicit Passage(const ir::Source* source)
      : file_(dynamic_cast<const FileSource*>(source)) {}
  // The reader has passed these bytes.
  void pass(Bytes bytes);

 private:
  const FileSource* file_;
  std::size_t passed_ = 0;  // since memory was given back
};

}  // namespace ruleengine::io
