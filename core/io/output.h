// OutputFile: a file that appears under its name whole or not at all. It is
// written without a name where the file system can (so that not even a killed
// process leaves something behind), else under a temporary one in the same
// folder, and gets its name by rename. What is there already stays untouched
// until then. Failures are Diagnostics of kind kWrite. One thread each.
#ifndef RULEENGINE_CORE_IO_OUTPUT_H_
#define RULEENGINE_CORE_IO_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/confined.h"
#include "core/io/descriptor.h"
#include "core/io/wire.h"

namespace ruleengine::io {

// What stands at a path.
struct Existing {
  FileId id;
  bool regular = false;
  std::uint64_t size = 0;
};
std::optional<Existing> existing(const std::string& path);

class OutputFile {
 public:
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path);
  ~OutputFile();  // without commit: nothing is left
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // All append.
  Status write(Bytes bytes);
  // `size` bytes at `offset` of another file, shared or copied inside the
  // kernel where that can be; holes stay holes.
  Status copy(int from, std::uint64_t offset, std::uint64_t size);
  Status pad(std::uint64_t to);  // zeros up to that size
  std::uint64_t size() const { return at_ + buffer_.size(); }

  // Everything is on its way to the disk, and there when `sync`.
  Status finish(bool sync);
  // Takes the name. The old file of that name is kept until release(); until
  // then revert() brings it back.
  Status commit();
  // The same, but fails when the name is taken.
  Status commit_new();
  void revert();
  void release();

  const std::string& path() const { return path_; }

 private:
  explicit OutputFile(const std::string& path);
  Status open();
  Status flush();
  Status write_at(const std::byte* data, std::size_t size);
  Status copy_extent(int from, std::uint64_t offset, std::uint64_t size);
  Status copy_by_reading(int from, std::uint64_t offset, std::uint64_t size);
  Status give_temporary_name();
  Status fail(int error) const;

  std::string path_, folder_, temporary_;
  Descriptor file_;
  std::uint64_t at_ = 0;  // bytes written; those of buffer_ follow
  std::vector<std::byte> buffer_;
  bool kernel_copies_ = true;
  bool committed_ = false, replaced_ = false;
};

// While one lives, exceeding the limit on file sizes (RLIMIT_FSIZE) is an error
// of write() for this thread, and not a signal that ends the process.
class FileSizeSignalBlock {
 public:
  FileSizeSignalBlock();
  ~FileSizeSignalBlock();
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

 private:
  bool was_blocked_ = false;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_OUTPUT_H_
