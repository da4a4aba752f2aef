// OutputFile: a file that appears under its name whole or not at all. It is
// written without a name where the file system can (so that not even a killed
// process leaves something behind), else under a temporary one in the same
// folder, and gets its name by rename. What is there already stays untouched
// until then. From open on it is held (hold.h), and what it replaces as well,
// so that other runs know them for a live one's. Failures are Diagnostics of
// kind kWrite. One thread each.
#ifndef RULEENGINE_CORE_IO_OUTPUT_H_
#define RULEENGINE_CORE_IO_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/descriptor.h"
#include "core/io/read/confined.h"
#include "core/io/signals.h"
#include "core/io/write/byte_sink.h"

namespace ruleengine::io {

// What stands at a path.
struct Existing {
  FileId id;
  bool regular = false;
  std::uint64_t size = 0;
};
std::optional<Existing> existing(const std::string& path);

class OutputFile final : public ByteSink {
 public:
  // For the name `path`, or what take() will say. Temporary names are those of
  // the result `result`.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path);
  static Result<std::unique_ptr<OutputFile>> create_for(
      const std::string& result);
  ~OutputFile() override;  // without commit: nothing is left
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status write(Bytes bytes) override;
  // Shared or copied inside the kernel where that can be; holes stay holes.
  Status copy(int from, std::uint64_t offset, std::uint64_t size) override;
  Status pad(std::uint64_t to) override;

  // Everything is on its way to the disk, and there when `sync`.
  Status finish(bool sync);
  // Sees to it that there is a temporary name at least.
  Status give_temporary_name();
  // A temporary name stays, for the next run.
  void leave_temporary() { temporary_.clear(); }
  // Takes the name `path`, if it is free; whether it was. It may be given back
  // by remove_unused() (leftovers.h).
  Result<bool> take(const std::string& path);
  // Takes its own name. The old file of that name is kept until release();
  // until then revert() brings it back. Where another run has taken the name
  // since, that one's file stays.
  Status commit();
  void revert();
  void release();
  bool has_name() const;  // its own, and still

  const std::string& path() const { return path_; }
  int descriptor() const { return file_.get(); }

 private:
  explicit OutputFile(const std::string& path, const std::string& result);
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

#endif  // RULEENGINE_CORE_IO_OUTPUT_H_
