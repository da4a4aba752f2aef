// What the verbs share: sorting paths into rules and models, loading both, and
// making the options of the library. What fails throws an api::Failure. Prints
// nothing except warnings about a model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/api/failure.h"
#include "bindings/api/models.h"
#include "bindings/cli/options.h"

namespace ruleengine::cli {

using api::check, api::is_model, api::misuse, api::take;

struct Paths {
  std::vector<std::string> rules, models;
};

enum class Wants { kRules, kModels, kBoth, kModelsAndRules };
// Sorts by name: *.lua and folders are rules, *.onnx and *.onnxtxt models, and
// "-" is the model on stdin. Missing or surplus ones are
// usage errors; with kModelsAndRules the rules are optional.
Paths sort_paths(const Flags& flags, Wants wants);

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
std::unique_ptr<ir::Model> load_model(const std::string& path,
                                      const Flags& flags,
                                      Use use = Use::kWhole);
// The same after the rules of --first.
std::unique_ptr<ir::Model> load_after_first(const std::string& path,
                                            const RuleFlags& flags,
                                            Use use = Use::kWhole);
void run_first(ir::Model& model, const RuleFlags& flags);

engine::RunOptions run_options(const RuleFlags& flags);

// What --dims says: NAME=SIZE, and NAME=NAME if dimensions may be tied.
engine::FixedSizes parse_dims(const InputFlags& flags, bool may_tie);
// ABS,REL; none: the option was not given.
std::optional<runtime::Tolerance> parse_tolerance(
    const std::optional<std::string>& text);
api::ExecutionOptions execution_options(const Flags& flags,
                                        const InputFlags& inputs);

api::RuleOptions rule_options(const RuleFlags& flags);
// For verbs without a target: the rules of these paths; if there are none, the
// rules of `shipped` (paths below rules/).
api::LoadedRules load_rules(const std::vector<std::string>& paths,
                            const RuleFlags& flags,
                            const std::vector<std::string>& shipped = {});

// "takes no part, since its `when` returned false (...)".
std::string why_absent(const engine::Absent& rule);

// `--watch`: does the work again whenever a file that it reads changes.
//
// Calls `once`, and again after each change of these rules and models (see
// api::Changes; inputs are not looked at). A signal ends it; so does a first
// call that returns the exit code of a wrong command line, which is then
// returned.
int watch(const std::vector<std::string>& paths,
          const std::function<int()>& once);

}  // namespace ruleengine::cli
