// What the verbs share: sorting paths into rules and models, loading both, and
// making the options of the library. Prints nothing except warnings about a
// model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/api/execution.h"
#include "bindings/api/limits.h"
#include "bindings/api/models.h"
#include "bindings/api/rules.h"
#include "bindings/cli/options.h"
#include "core/base/deadline.h"
#include "core/base/result.h"

namespace ruleengine::cli {

// A fault of how the program was called.
Diagnostic usage(std::string what, std::string found = {},
                 std::string hint = {});

struct Paths {
  std::vector<std::string> rules, models;
};

bool is_model(const std::string& path);  // by its name; "-" is one

enum class Wants { kRules, kModels, kBoth, kModelsAndRules };
// Sorts by name: *.lua and folders are rules, *.onnx and *.onnxtxt models, and
// "-" is the model on stdin. Missing or surplus ones are
// usage errors; with kModelsAndRules the rules are optional.
Result<Paths> sort_paths(const Flags& flags, Wants wants);

// The same options for work that begins now.
template <typename T>
T begun_now(T flags) {
  flags.started = std::chrono::steady_clock::now();
  return flags;
}

// The limits of the command line, with their deadline; see Flags.
api::Limits limits_of(const Flags& flags);

// Loads a model; warnings about it go to stderr. If the model is only looked
// at, its external data may be missing.
enum class Use { kWhole, kLook };
Result<std::unique_ptr<ir::Model>> load_model(const std::string& path,
                                              const Flags& flags,
                                              Use use = Use::kWhole);
// The same after the rules of --first.
Result<std::unique_ptr<ir::Model>> load_after_first(const std::string& path,
                                                    const RuleFlags& flags,
                                                    Use use = Use::kWhole);
Status run_first(ir::Model& model, const RuleFlags& flags);

engine::RunOptions run_options(const RuleFlags& flags);

// What --dims says: NAME=SIZE, and NAME=NAME if dimensions may be tied.
Result<engine::FixedSizes> parse_dims(const InputFlags& flags, bool may_tie);
Result<api::ExecutionOptions> execution_options(const Flags& flags,
                                                const InputFlags& inputs);

// ABS,REL; none: the option was not given.
Result<std::optional<runtime::Tolerance>> parse_tolerance(
    const std::optional<std::string>& text);

Result<api::RuleOptions> rule_options(const RuleFlags& flags);
// For verbs without a target: the rules of these paths; if there are none, the
// rules of `shipped` (paths below rules/).
Result<api::LoadedRules> load_rules(
    const std::vector<std::string>& paths, const RuleFlags& flags,
    const std::vector<std::string>& shipped = {});
// Says in the terms of --set which values are allowed.
Diagnostic of_set(Diagnostic error);

// "takes no part, since its `when` returned false (...)".
std::string why_absent(const engine::Absent& rule);

}  // namespace ruleengine::cli
