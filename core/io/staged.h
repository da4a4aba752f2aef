// Staged: a result that is complete on the disk but has no name yet. Its own
// data files, if any, already have names, but no model refers to them. The
// owner decides when the result appears; destroyed before that, it leaves
// nothing. Movable; one thread each; failures are Diagnostics of kind kWrite.
#pragma once

#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/io/output.h"
#include "core/io/signals.h"
#include "core/io/write/copy_data.h"

namespace ruleengine::io {

class Staged {
 public:
  // An empty result, as in a dry run.
  Staged() = default;
  // `file` is finished, and the names of `data` are taken.
  explicit Staged(std::unique_ptr<OutputFile> file, DataFiles data = {})
      : file_(std::move(file)), data_(std::move(data)) {}
  ~Staged();  // before commit(): drops; after it: releases
  Staged(Staged&& from) noexcept = default;
  Staged& operator=(Staged&& from) noexcept;

  // Gives the result its name in one step. The file that had the name before is
  // kept until release(); until then revert() brings it back. Signals are
  // deferred from commit() to release().
  Status commit();
  void revert();
  void release();

 private:
  void drop();

  std::unique_ptr<OutputFile> file_;
  DataFiles data_;
  std::unique_ptr<SignalHold> committed_;
};

// Commits and releases all of them, or none.
Status commit_all(std::span<Staged* const> results);

}  // namespace ruleengine::io
