// Output paths of a run, checked before any rule is loaded, so that a mistake
// on the command line costs little time and destroys nothing.
#pragma once

#include <string>
#include <vector>

#include <filesystem>
#include <optional>
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

// The paths of results: beside the models, or as -o says. It names a folder
// where there are several models, where it is one, and where it ends with a
// slash. Models of one name keep in it their folders, below the one that all
// models have in common.
class ResultPaths {
 public:
  ResultPaths(const std::vector<std::string>& models, const Options& options);
  std::string of(const std::string& model) const;
  bool are_in_folder() const { return in_folder_; }

 private:
  std::filesystem::path output_;
  bool in_folder_ = false;
  std::optional<std::filesystem::path> common_;
};

// kUsage if an output would replace an input, kWrite if a folder cannot be
// written to. Creates the folder of the results.
Status check_run_paths(const Paths& paths, const Options& options);

// Deletes temporary files that interrupted runs left beside these results; not
// in a dry run.
void remove_leftovers(const Paths& paths, const Options& options);

}  // namespace ruleengine::cli
