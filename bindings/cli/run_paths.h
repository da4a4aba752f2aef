// Where a run writes, and whether it may: looked at before any rule is, so that
// a slip of the command line costs little and destroys nothing.
#ifndef RULEENGINE_BINDINGS_CLI_RUN_PATHS_H_
#define RULEENGINE_BINDINGS_CLI_RUN_PATHS_H_

#include <string>

#include "bindings/cli/options.h"
#include "bindings/cli/session.h"
#include "core/base/result.h"

namespace ruleengine::cli {

// Where the result of `model` goes; `several` models go to a folder.
std::string output_path(const std::string& model, const Options& options,
                        bool several);

// kUsage for names that would write over what is read, kWrite for folders that
// take no file. Makes the folder of the results.
Status check_run_paths(const Paths& paths, const Options& options);

// Takes away what dead runs left of these results; not in a dry run.
void remove_leftovers(const Paths& paths, const Options& options);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_RUN_PATHS_H_
