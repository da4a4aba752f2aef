// Rewriting models: from a file to a file, with whatever proves and measures
// the result.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/api/execution.h"
#include "bindings/api/local_proof.h"
#include "bindings/api/models.h"
#include "bindings/api/rules.h"
#include "bindings/api/steps.h"
#include "bindings/api/tune.h"
#include "core/base/result.h"
#include "core/engine/engine.h"
#include "core/engine/json.h"
#include "core/io/staged.h"

namespace ruleengine::api {

struct RewriteOptions {
  std::vector<std::string> rules;  // paths; none: all that ship
  std::vector<lua::SetOption> sets;
  std::shared_ptr<const lua::RuleTexts> texts;  // as in RuleOptions
  engine::RunOptions run;
  engine::FixedSizes fixed;
  bool share_data = false;  // refer to the model's external data
  // Whether the result is compared with the model, on the inputs of `how`; and
  // whether a result that cannot be run is accepted, with a warning.
  bool verifies = false, lenient = false;
  // Whether inputs on which the result differs are saved to
  // OUTPUT.counterexample.
  bool saves_counterexample = true;
  bool verifies_edits = false;  // each where it is made: LocalProof
  AskStep on_step;              // of each rewrite; may be empty
  ExecutionOptions how;
  // Keeps the rewrites that a runtime gains from.
  std::optional<TuneOptions> tunes;
  // Measures the model and the result.
  std::optional<MeasureOptions> measures;
  Limits limits;  // of all parts: those in `run`, `how` and others are not read
};

// One model to rewrite.
struct Job {
  std::string model;
  std::string output;  // the name of the result; "": nothing is written
  Progress progress;
  Warn warn;  // hears of faults of a model that cannot be loaded
  // Asked once the model is loaded; an error ends the job. May be empty.
  std::function<Status(const ir::Model&)> accepts;
};

// What became of it.
struct Rewritten {
  engine::FileReport report;
  io::Staged result;  // not yet renamed into place
  bool loaded = false;
};

// Rules that are loaded and compiled once. One thread at a time.
class Rewriter {
 public:
  static Result<std::unique_ptr<Rewriter>> create(RewriteOptions options);

  // How the models that follow are rewritten: of `options` what says so in
  // `run`, `fixed`, `share_data`, what is verified, `on_step`, and the tensors
  // of `limits`.
  Status configure(const RewriteOptions& options);

  const std::vector<std::string>& warnings() const {
    return engine_->warnings();
  }

  // The rules of the paths, and how they are run.
  const engine::RuleSet& rules() const { return engine_->rules(); }
  const engine::OpBodies& bodies() const { return engine_->bodies(); }
  const engine::RunOptions& run_options() const { return options_.run; }
  ModelOptions model_options() const;

  // On an error, `out` has what was known by then.
  Status rewrite(const Job& job, Rewritten& out);
  // The same for a model in memory, which stays as it is: the result is a copy
  // that borrows from it. kUsage where the options tune or measure. Of the job
  // the name of the model and the progress are read.
  Result<std::shared_ptr<ir::Model>> rewrite(
      const std::shared_ptr<ir::Model>& model, const Job& job,
      engine::FileReport& report);

 private:
  explicit Rewriter(RewriteOptions options);
  void judge_edits();
  Status verify(const ir::Model& model, const ir::Model& result,
                const std::string& output, engine::FileReport& report) const;
  Result<std::shared_ptr<ir::Model>> tune(engine::Variants& variants,
                                          const ir::Model& model,
                                          const Progress& progress,
                                          engine::FileReport& report) const;
  Result<std::shared_ptr<ir::Model>> result_of(
      engine::Variants& variants, const std::shared_ptr<ir::Model>& model,
      const Job& job, bool keeps_model, engine::FileReport& report);
  Result<std::shared_ptr<ir::Model>> make(
      engine::Variants& variants, const std::shared_ptr<ir::Model>& model,
      const Job& job, bool keeps_model, std::vector<rewrite::Warning> warnings,
      engine::FileReport& report);
  Status examine(engine::Variants& variants, const ir::Model& model,
                 const ir::Model& result, const std::string& output,
                 engine::FileReport& report);
  Result<io::Staged> stage(const ir::Model& model,
                           const engine::FileReport& report) const;

  RewriteOptions options_;
  lua::RuleFiles files_;
  std::shared_ptr<LocalProof> local_;  // nullptr: edits are not verified
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace ruleengine::api
