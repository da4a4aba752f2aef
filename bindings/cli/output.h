// Where a verb writes its result: a file, or stdout, which "-" means. What goes
// to stdout is first a temporary file, so that a failed run prints nothing.
#pragma once

#include <memory>
#include <string>

#include "bindings/api/scratch.h"
#include "core/base/result.h"

namespace ruleengine::cli {

class Output {
 public:
  // `ending`: of the temporary file. kUsage if stdout is a terminal.
  static Result<Output> create(const std::string& name,
                               const std::string& ending);

  bool is_stdout() const { return scratch_ != nullptr; }
  const std::string& path() const { return path_; }  // to write to
  // Copies the temporary file to stdout. kUsage if data lies beside it; throws
  // as printing does.
  Status finish() const;

 private:
  std::string path_;
  std::unique_ptr<api::Scratch> scratch_;
  api::ScratchFile file_;
};

}  // namespace ruleengine::cli
