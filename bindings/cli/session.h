// What the verbs share: sorting paths into rules and models, loading both, and
// making the engine's options. Prints nothing except warnings about a model.
#pragma once

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

// A fault of how the program was called.
Diagnostic usage(std::string what, std::string found = {},
                 std::string hint = {});

struct Paths {
  std::vector<std::string> rules, models;
};

enum class Wants { kRules, kModels, kBoth, kModelsAndRules };
// Sorts by name: *.lua and folders are rules, *.onnx and *.onnxtxt models.
// Missing or surplus ones are usage errors; with kModelsAndRules the rules are
// optional.
Result<Paths> sort_paths(const Options& options, Wants wants);

bool is_text_model(const std::string& path);  // *.onnxtxt
// What a regular file holds; `found` of the error says why it cannot be read.
Result<std::string> read_text_file(const std::string& path);
// The deadline of --limit-time; by default an hour for each model.
Deadline deadline_of(const Options& options);
// Loads a model, which may grow by --limit-memory. Warnings about it go to
// `report`; if that is nullptr, to stderr. If the model is only looked at, its
// external data may be missing.
enum class Use { kWhole, kLook };
Result<std::unique_ptr<ir::Model>> load_model(
    const std::string& path, const Options& options,
    std::vector<rewrite::Warning>* report = nullptr, Use use = Use::kWhole);
// To call before anything about a model is printed or written: fails if its
// file has changed, or if the deadline has passed.
Status check_end(const ir::Model& model, const Options& options);

lua::SandboxLimits sandbox_limits(const Options& options);
engine::RunOptions engine_options(const Options& options);

// The --sets of the command line.
Result<std::vector<lua::SetOption>> parse_sets(const Options& options);
// Loads rules, from files or from those that ship with the program.
Result<lua::RuleFiles> rule_files(const Options& options);
// For verbs without a target: the rules of these paths; if there are none, the
// rules of `shipped` (paths below rules/).
using LoadedRules = std::unique_ptr<engine::RuleSet>;
Result<LoadedRules> load_rules(const std::vector<std::string>& paths,
                               const Options& options,
                               const std::vector<std::string>& shipped = {});
// Says in the terms of --set which values are allowed.
Diagnostic of_set(Diagnostic error);

// "takes no part, since its `when` returned false (...)".
std::string why_absent(const engine::Absent& rule);

// Runs the rules of --first over the model.
Status run_first(ir::Model& model, const Options& options);

// A text file, written but not yet renamed into place.
Result<io::Staged> stage_text(const std::string& path, std::string_view text);
// A model as text, in the same state; fails if the text format cannot express
// everything in the model.
Result<io::Staged> stage_model_text(const std::string& path,
                                    const ir::Model& model);

}  // namespace ruleengine::cli
