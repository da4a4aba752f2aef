// What the verbs share: sorting paths into rules and models, loading either,
// and the engine's options. Nothing here prints, but for warnings of a model
// that is read from text.
#ifndef RULEENGINE_BINDINGS_CLI_SESSION_H_
#define RULEENGINE_BINDINGS_CLI_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "bindings/cli/options.h"
#include "bindings/lua/rule_file.h"
#include "bindings/lua/rule_source.h"
#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/io/staged.h"
#include "core/ir/model.h"

namespace ruleengine::cli {

struct Paths {
  std::vector<std::string> rules, models;
};

enum class Wants { kRules, kModels, kBoth, kModelsAndRules };
// By what they are: *.lua and folders are rules, *.onnx and *.onnxtxt models.
// Missing or surplus ones are usage errors; kModelsAndRules can do without
// rules.
Result<Paths> sort_paths(const Options& options, Wants wants);

bool is_text_model(const std::string& path);  // *.onnxtxt
// When --limit-time is over: without it an hour for each model.
Deadline deadline_of(const Options& options);
// The model, which rules may make grow by --limit-memory. What is odd about it
// goes to `report`, or to stderr without one.
Result<std::unique_ptr<ir::Model>> load_model(
    const std::string& path, const Options& options,
    std::vector<rewrite::Warning>* report = nullptr);
// Before anything is told or written of a model: its file is as it was, and
// the time is not over.
Status check_end(const ir::Model& model, const Options& options);

lua::SandboxLimits sandbox_limits(const Options& options);
engine::Options engine_options(const Options& options);

// The --sets of the command line.
Result<std::vector<lua::SetOption>> parse_sets(const Options& options);
// Where rules come from: files, and those that ship with the program.
Result<lua::RuleFiles> rule_files(const Options& options);
// For verbs that run without a target: the rules of these paths, or where there
// are none, those of `shipped` (paths below rules/).
using LoadedRules = std::unique_ptr<engine::RuleSet>;
Result<LoadedRules> load_rules(const std::vector<std::string>& paths,
                               const Options& options,
                               const std::vector<std::string>& shipped = {});
// How --set writes a value is said here, not where it is refused.
Diagnostic of_set(Diagnostic error);

// "takes no part, its `when` says no (...)".
std::string why_absent(const engine::Absent& rule);

// Runs `options.first` over the model, for verbs that look at what is left.
Status run_first(ir::Model& model, const Options& options);

// A text file, ready to appear.
Result<io::Staged> stage_text(const std::string& path, std::string_view text);
// A model as text; a Diagnostic where the text cannot say it whole.
Result<io::Staged> stage_model_text(const std::string& path,
                                    const ir::Model& model);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_SESSION_H_
