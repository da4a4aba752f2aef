// Output paths of a run, checked before any rule is loaded, so that a mistake
// on the command line costs little time and destroys nothing.
#ifndef RULEENGINE_BINDINGS_CLI_RUN_PATHS_H_
#define RULEENGINE_BINDINGS_CLI_RUN_PATHS_H_

#include <string>
#include <vector>

#include "bindings/cli/options.h"
#include "bindings/cli/session.h"
#include "core/base/result.h"

namespace ruleengine::cli {

// A file that a run writes beside its results.
struct SideFile {
  std::string what, option, path;
};
std::vector<SideFile> side_files(const Options& options);

// The path of the result for `model`. The results of `several` models are in a
// folder.
std::string output_path(const std::string& model, const Options& options,
                        bool several);

// kUsage if an output would replace an input, kWrite if a folder cannot be
// written to. Creates the folder of the results.
Status check_run_paths(const Paths& paths, const Options& options);

// Deletes temporary files that interrupted runs left beside these results; not
// in a dry run.
void remove_leftovers(const Paths& paths, const Options& options);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_RUN_PATHS_H_
