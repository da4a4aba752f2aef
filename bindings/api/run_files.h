// The files of a run, checked before any rule is loaded, so that a mistake
// costs little time and destroys nothing.
#pragma once

#include <string>
#include <vector>

#include "bindings/api/limits.h"
#include "core/base/result.h"

namespace ruleengine::api {

// A file that a run writes beside its results.
struct SideFile {
  std::string what;  // "the report"
  std::string path;
  std::string ending = ".json";  // that it usually has
};

// kUsage for a file with the name of a rule, a model or data, so that a mistake
// cannot overwrite one.
Status check_name(const SideFile& file);

struct RunFiles {
  std::vector<std::string> models, rules;
  // The result, or a folder: where there are several models, where it is one,
  // and where it ends with a slash. "": beside the models.
  std::string output;
  std::vector<SideFile> beside;
  std::vector<std::string> read;  // besides models and rules
  bool dry_run = false;
};

// The path of the result of each model. Models of one name keep in a folder
// their folders, below the one that all models have in common. kUsage if a file
// would replace one that is read, kWrite if a folder cannot be written to.
// Unless in a dry run: creates the folders, and deletes temporary files that
// interrupted runs left there.
Result<std::vector<std::string>> prepare_files(const RunFiles& files,
                                               const Limits& limits);

}  // namespace ruleengine::api
