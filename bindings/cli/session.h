// What the verbs share: sorting paths into rules and models, loading both, and
// making the options of the library. Prints nothing except warnings about a
// model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/api/execution.h"
#include "bindings/api/limits.h"
#include "bindings/api/models.h"
#include "bindings/api/rules.h"
#include "bindings/cli/line.h"
#include "bindings/cli/options.h"
#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
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

// The deadline of --limit-time; by default an hour for each model.
Deadline deadline_of(const Options& options);
api::Limits limits_of(const Options& options);

// Loads a model; warnings about it go to stderr. If the model is only looked
// at, its external data may be missing.
enum class Use { kWhole, kLook };
Result<std::unique_ptr<ir::Model>> load_model(const std::string& path,
                                              const Options& options,
                                              Use use = Use::kWhole);
// To call before anything about a model is printed or written: fails if its
// file has changed, or if the deadline has passed.
Status check_end(const ir::Model& model, const Options& options);

engine::RunOptions engine_options(const Options& options);

// What --dims says: NAME=SIZE, and NAME=NAME if dimensions may be tied.
Result<engine::FixedSizes> parse_dims(const Options& options, bool may_tie);
// --inputs, --dims, --seed, --threads and --limit-tensors.
Result<api::ExecutionOptions> execution_options(const Options& options);
// These options of verbs that run models.
void add_inputs(VerbLine& verb, Options& options,
                const char* dims = "sizes of inputs: batch=2,seq=7");

// The --sets of the command line.
Result<std::vector<lua::SetOption>> parse_sets(const Options& options);
// For verbs without a target: the rules of these paths; if there are none, the
// rules of `shipped` (paths below rules/).
Result<api::LoadedRules> load_rules(
    const std::vector<std::string>& paths, const Options& options,
    const std::vector<std::string>& shipped = {});
// Says in the terms of --set which values are allowed.
Diagnostic of_set(Diagnostic error);

// "takes no part, since its `when` returned false (...)".
std::string why_absent(const engine::Absent& rule);

// Runs the rules of --first over the model.
Status run_first(ir::Model& model, const Options& options);

}  // namespace ruleengine::cli
