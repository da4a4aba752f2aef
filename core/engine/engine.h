// Engine: runs rules and a target over models; every way into the program uses
// it. Rules are loaded and compiled once, with those of the target; then any
// number of models is rewritten, one after another: first by the given rules,
// then by those of the target. Rewrites that no rule needed are undone. Ops
// that the target has no form for get a function body. The result for a model
// does not depend on the models before it. Not thread-safe, since rules are
// not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/op_bodies.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/engine/run_report.h"
#include "core/engine/target.h"
#include "core/ir/model.h"
#include "core/rewrite/driver.h"

namespace ruleengine::engine {

class Engine {
 public:
  // Loads the rules of these paths. The source must outlive the engine. Fails
  // for bad options, for a bad rule, and for a setting that names no rule of
  // the run.
  static Result<std::unique_ptr<Engine>> load(
      const RuleSource& source, const std::vector<std::string>& paths,
      const RunOptions& options);

  // Other options for the runs that follow; fails as load() does.
  Status configure(const RunOptions& options);

  const std::vector<std::string>& warnings() const {
    return given_->warnings();
  }

  // The rules of the paths.
  const RuleSet& rules() const { return *given_; }
  // What ops of the user's own mean.
  const OpBodies& bodies() const { return bodies_; }

  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  // Rewrites the model, which belongs to the caller; on an error it is in a
  // consistent but unspecified state. `progress` may be empty.
  Result<RunReport> run(ir::Model& model, const Progress& progress = {});
  // A part of a run.
  struct Part {
    // The first rewrites alone, with all canonical forms.
    std::optional<std::uint64_t> first;
    // Rules whose rewrites are rejected; may be empty.
    std::function<bool(const rewrite::Rule&)> leaves_out;
    // Asked before each edit is kept; may be empty.
    rewrite::Judge judge;
  };
  Result<RunReport> run_part(ir::Model& model, const Part& part);

 private:
  class Run;
  // The rules of a run for one target: the given rules, then the target's own.
  // A given rule replaces one of the target with the same name.
  struct Plan {
    std::vector<rewrite::Rule*> rules;
    std::unique_ptr<RuleSet> own;
    rewrite::Stages stages;  // of the target's own act
  };

  Engine(const RuleSource& source, RunOptions options);
  Result<const Plan*> plan(const Target& target);
  Status check_settings();

  const RuleSource& source_;
  RunOptions options_;
  std::unique_ptr<RuleSet> given_;
  OpBodies bodies_;
  rewrite::Stages stages_;                  // of the given rules
  std::map<std::string_view, Plan> plans_;  // by target, made when needed
};

// Runs only these rules: no target and no function bodies. For verbs that show
// the graph after some rules.
Result<rewrite::DriverReport> run_rules(ir::Model& model, const RuleSet& rules,
                                        const RunOptions& options);

}  // namespace ruleengine::engine
