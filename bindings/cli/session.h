// What the verbs share: sorting paths into rules and models, loading either,
// and the engine's options. Nothing here prints, but for warnings of a model
// that is read from text.
#ifndef RULEENGINE_BINDINGS_CLI_SESSION_H_
#define RULEENGINE_BINDINGS_CLI_SESSION_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bindings/cli/options.h"
#include "bindings/lua/rule_file.h"
#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/io/staged.h"
#include "core/ir/model.h"
#include "core/rewrite/driver.h"

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

// A rule set and its rules as the driver takes them.
struct Rules {
  std::unique_ptr<lua::RuleSet> set;
  std::vector<std::unique_ptr<rewrite::Rule>> owned;
  std::vector<rewrite::Rule*> pointers;
};
lua::SandboxLimits sandbox_limits(const Options& options);
Result<Rules> load_rules(const std::vector<std::string>& paths,
                         const Options& options);

rewrite::Options engine_options(const Options& options);

// Of a rule whose `when` says no to this graph: the options, as they stand, of
// which each turned the other way would make it say yes; "enable = false".
std::string switches(const lua::RuleSet& set, const lua::LoadedRule& rule,
                     ir::Graph& graph, ir::Facts& facts);
// Why rule `index` takes no part in this graph: its `when` says no, perhaps for
// one of its options. "" when it takes part.
Result<std::string> absence(const Rules& rules, std::size_t index,
                            ir::Graph& graph, ir::Facts& facts);

// Runs `options.first` over the model, for verbs that look at what is left.
Status run_first(ir::Model& model, const Options& options);

// A text file, ready to appear.
Result<io::Staged> stage_text(const std::string& path, std::string_view text);
// A model as text; a Diagnostic where the text cannot say it whole.
Result<io::Staged> stage_model_text(const std::string& path,
                                    const ir::Model& model);

// "Add" or "com.microsoft::Gelu" -> how many, subgraphs included, function
// bodies not.
std::map<std::string, std::uint64_t> count_ops(const ir::Model& model);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_SESSION_H_
