// Engine: a run, as every door into the program does it. The rules are loaded
// and compiled once, those of the target among them, and then any number of
// models goes through, one after another: first the rules that were given, then
// those of the target; what no rule needed is taken back; what no target has a
// word for gets a function body. The same model gives the same result, whatever
// went through before it. One thread at a time: rules are not for two.
#ifndef RULEENGINE_CORE_ENGINE_ENGINE_H_
#define RULEENGINE_CORE_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/engine/target.h"
#include "core/ir/model.h"
#include "core/rewrite/driver.h"

namespace ruleengine::engine {

// "Add" or "com.microsoft::Gelu" -> how many, subgraphs included, function
// bodies not.
using OpCounts = std::map<std::string, std::uint64_t>;
OpCounts count_ops(const ir::Model& model);

// What a run did to one model.
struct Report {
  std::string target;  // the name of one of target.h
  // Of the standard domain: the model's, and the result's.
  std::int64_t opset_before = 0, opset_after = 0;
  OpCounts ops_before, ops_after;
  rewrite::Report rewrites;
  std::vector<Absent> absent;  // rules that were given, and took no part

  bool has_rewritten() const;
  // The result says what the model said.
  bool is_untouched() const {
    return opset_after == opset_before && !has_rewritten();
  }
};

class Engine {
 public:
  // Loads the rules of these paths. The source outlives the engine. Errors are
  // those of the options, of a rule, or of a setting that no rule of the run
  // has.
  static Result<std::unique_ptr<Engine>> load(
      const RuleSource& source, const std::vector<std::string>& paths,
      const Options& options);
  ~Engine();

  const std::vector<std::string>& warnings() const;

  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  // Rewrites the model, which belongs to the caller; on an error it is in a
  // consistent but unspecified state. `progress` may be empty.
  Result<Report> run(ir::Model& model, const Progress& progress = {});

 private:
  class Run;
  // The rules of a run for one target: those that were given, then its own.
  // A rule that was given takes the place of one of its name.
  struct Plan {
    std::vector<rewrite::Rule*> rules;
    std::unique_ptr<RuleSet> own;
    rewrite::Stages stages;  // of the target's act
  };

  Engine(const RuleSource& source, Options options);
  Result<const Plan*> plan(const Target& target);
  Status check_settings();

  const RuleSource& source_;
  Options options_;
  std::unique_ptr<RuleSet> given_;
  rewrite::Stages stages_;  // of the rules that were given
  std::map<std::string_view, Plan> plans_;  // by target, as they are needed
};

// Only these rules, whatever the target, and no function bodies: for verbs that
// look at what rules leave.
Result<rewrite::Report> run_rules(ir::Model& model, const RuleSet& rules,
                                  const Options& options);

}  // namespace ruleengine::engine

#endif  // RULEENGINE_CORE_ENGINE_ENGINE_H_
