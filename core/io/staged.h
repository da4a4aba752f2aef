// Staged: a result that is whole on the disk and has no name yet. Whoever holds
// it decides when it appears; dropped before that, nothing is left. Movable;
// one thread each; failures are Diagnostics of kind kWrite.
#ifndef RULEENGINE_CORE_IO_STAGED_H_
#define RULEENGINE_CORE_IO_STAGED_H_

#include <memory>
#include <utility>

#include "core/base/result.h"
#include "core/io/copy_data.h"
#include "core/io/output.h"

namespace ruleengine::io {

class Staged {
 public:
  // Nothing at all, as of a dry run.
  Staged() = default;
  // `file` is finished.
  explicit Staged(std::unique_ptr<OutputFile> file, DataFiles data = {},
                  bool sync = false)
      : file_(std::move(file)), data_(std::move(data)), sync_(sync) {}

  // Takes the names, that of the model last. What had them before is kept
  // until release(); until then revert() brings it back.
  Status commit() {
    if (file_ == nullptr) return {};
    if (Status s = data_.commit(sync_); !s) return s;
    Status s = file_->commit();
    if (!s) data_.revert();
    return s;
  }
  void revert() {
    if (file_ == nullptr) return;
    file_->revert();
    data_.revert();
  }
  void release() {
    if (file_ == nullptr) return;
    file_->release();
    data_.release();
  }

 private:
  std::unique_ptr<OutputFile> file_;
  DataFiles data_;
  bool sync_ = false;
};

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_STAGED_H_
