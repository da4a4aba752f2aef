// The files of a run, checked before any rule is loaded, so that a mistake on
// the command line costs little time and destroys nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bindings/cli/session.h"
#include "core/base/result.h"

namespace ruleengine::cli {

// A file that a run writes beside its results.
struct SideFile {
  std::string what, option, path;
};

struct RunFiles {
  std::string output;  // -o
  std::vector<SideFile> beside;
  std::vector<std::string> read;  // besides models and rules
  bool dry_run = false;
};

// The paths of results: beside the models, or as `output` says. It names a
// folder where there are several models, where it is one, and where it ends
// with a slash. Models of one name keep in it their folders, below the one that
// all models have in common.
class ResultPaths {
 public:
  ResultPaths(const std::vector<std::string>& models, std::string output);
  std::string of(const std::string& model) const;
  bool are_in_folder() const { return in_folder_; }

 private:
  std::filesystem::path output_;
  bool in_folder_ = false;
  std::optional<std::filesystem::path> common_;
};

// kUsage if a file would replace one that is read, kWrite if a folder cannot be
// written to. Creates the folder of the results and deletes temporary files
// that interrupted runs left beside them, the latter not in a dry run.
Status check_files(const Paths& paths, const RunFiles& files,
                   const Flags& flags);

}  // namespace ruleengine::cli
