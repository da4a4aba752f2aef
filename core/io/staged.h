// Staged: a result that is whole on the disk and has no name yet; its data, if
// it has any of its own, has, which no model refers to yet. Whoever holds it
// decides when it appears; dropped before that, nothing is left. Movable; one
// thread each; failures are Diagnostics of kind kWrite.
#ifndef RULEENGINE_CORE_IO_STAGED_H_
#define RULEENGINE_CORE_IO_STAGED_H_

#include <memory>

#include "core/base/result.h"
#include "core/io/output.h"
#include "core/io/signals.h"
#include "core/io/write/copy_data.h"

namespace ruleengine::io {

class Staged {
 public:
  // Nothing at all, as of a dry run.
  Staged() = default;
  // `file` is finished, and the names of `data` are taken.
  explicit Staged(std::unique_ptr<OutputFile> file, DataFiles data = {})
      : file_(std::move(file)), data_(std::move(data)) {}
  ~Staged();  // without commit: dropped; after it: released
  Staged(Staged&& from) noexcept = default;
  Staged& operator=(Staged&& from) noexcept;

  // Takes the name, in one step that makes the result whole. What had it
  // before is kept until release(); until then revert() brings it back. In
  // between signals wait.
  Status commit();
  void revert();
  void release();

 private:
  void drop();

  std::unique_ptr<OutputFile> file_;
  DataFiles data_;
  std::unique_ptr<SignalHold> committed_;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_STAGED_H_
