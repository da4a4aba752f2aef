// Where a verb writes its result: a file, or stdout, which "-" means. What goes
// to stdout is first a temporary file, so that a failed run prints nothing.
#pragma once

#include <memory>
#include <string>

#include "bindings/api/scratch.h"
#include "bindings/cli/run.h"
#include "bindings/cli/session.h"

namespace ruleengine::cli {

class Output {
 public:
  // `ending`: of the temporary file. kUsage if stdout is a terminal.
  Output(const std::string& name, const std::string& ending);

  bool is_stdout() const { return scratch_ != nullptr; }
  const std::string& path() const { return path_; }  // to write to
  // Copies the temporary file to stdout. kUsage if data lies beside it; throws
  // as printing does, too.
  void finish() const;

 private:
  std::string path_;
  std::unique_ptr<api::Scratch> scratch_;
  api::ScratchFile file_;
};

// Of a run. Rejects options that stdin or stdout cannot serve.
void check_streams(const Paths& paths, const RunFlags& flags);
// Where the result of the run goes; on stdout it has the form of the model.
// Reads stdin if the model is there.
Output output_of(const Paths& paths, const RunFlags& flags);

}  // namespace ruleengine::cli
