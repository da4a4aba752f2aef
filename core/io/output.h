// OutputFile: a file that appears under its name whole or not at all. Where the
// file system allows it the file has no name while it is written (even a killed
// process leaves nothing behind), else a temporary one in the same folder; it
// gets its name by rename. Until then an existing file stays untouched. The
// file is locked from open on (descriptor.h), and so is the one that it
// replaces: other runs see that a live run needs them. Failures are Diagnostics
// of kind kWrite. One thread each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/descriptor.h"
#include "core/io/read/confined.h"
#include "core/io/signals.h"
#include "core/wire/wire.h"

namespace ruleengine::io {

// The size of a page, to which large data is aligned.
inline constexpr std::uint64_t kPage = 4096;

// What exists at a path.
struct Existing {
  FileId id;
  bool regular = false;
  std::uint64_t size = 0;
};
std::optional<Existing> existing(const std::string& path);

// Receives the bytes of a file in order: writes them, or compares them with an
// existing file.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // All of these append.
  virtual Status write(Bytes bytes) = 0;
  // Appends `size` bytes at `offset` of another file.
  virtual Status copy(int from, std::uint64_t offset, std::uint64_t size) = 0;
  virtual Status pad(std::uint64_t to) = 0;  // zeros up to that size
};

class OutputFile final : public ByteSink {
 public:
  // The file will be named `path`, or as take() says. Temporary names are those
  // that belong to the result `result`.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path);
  static Result<std::unique_ptr<OutputFile>> create_for(
      const std::string& result);
  ~OutputFile() override;  // without commit: removes the file
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status write(Bytes bytes) override;
  // Shares or copies blocks inside the kernel where possible; holes stay holes.
  Status copy(int from, std::uint64_t offset, std::uint64_t size) override;
  Status pad(std::uint64_t to) override;

  // Flushes all writes; with `sync`, waits until the disk has them.
  Status finish(bool sync);
  // Gives the file a temporary name if it has none.
  Status give_temporary_name();
  // Leaves the temporary name for the next run to remove.
  void leave_temporary() { temporary_.clear(); }
  // Takes the name `path` if it is free; returns whether it was.
  // remove_unused() (leftovers.h) gives it back.
  Result<bool> take(const std::string& path);
  // Takes its own name. The old file of that name is kept until release();
  // until then revert() brings it back. If another run has taken the name
  // since, revert() leaves that run's file.
  Status commit();
  void revert();
  void release();
  bool has_name() const;  // whether its own name still names this file

  const std::string& path() const { return path_; }
  int descriptor() const { return file_.get(); }

 private:
  explicit OutputFile(const std::string& result);
  Status open();
  bool open_temporary();
  Status flush();
  Status write_at(const std::byte* data, std::size_t size);
  Status copy_extent(int from, std::uint64_t offset, std::uint64_t size);
  Status copy_by_reading(int from, std::uint64_t offset, std::uint64_t size);
  bool replace();
  bool replace_in_steps();
  void hold_replaced();
  int move_to_free(const std::string& path);
  Status fail(int error) const;

  std::string path_, result_, temporary_;
  Doomed doomed_;  // temporary_
  Descriptor file_, replaced_;
  std::uint64_t at_ = 0;  // bytes written; those of buffer_ follow
  std::vector<std::byte> buffer_;
  bool kernel_copies_ = true;
  bool committed_ = false;
  bool keeps_old_ = false;  // under temporary_
};

}  // namespace ruleengine::io
