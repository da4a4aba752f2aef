#include "bindings/api/rewrite.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <utility>

#include "bindings/api/files.h"
#include "bindings/api/proof.h"
#include "bindings/api/streams.h"
#include "core/base/stopwatch.h"

namespace ruleengine::api {
namespace {

// If nothing matched, the result is a copy of the text file, comments included.
Result<io::Staged> copy_text(const std::string& from, const std::string& to) {
  const auto given = standard_input(from);
  if (given && *given) return stage_text(to, **given);
  const auto text = read_text_file(from);
  if (text) return stage_text(to, *text);
  return Diagnostic{.kind = ErrorKind::kModel,
                    .what = "the model cannot be read again",
                    .where = from,
                    .found = text.error().found};
}

// Warns of each setting whose rule took no part in spite of it.
void warn_of_idle(const std::vector<lua::SetOption>& sets,
                  engine::RunReport& report) {
  for (const lua::SetOption& set : sets) {
    for (const engine::Absent& rule : report.absent) {
      if (set.rule != rule.name && set.rule != rule.qualified) continue;
      // The setting itself disables the rule, so it did have an effect.
      const std::string own = ", " + set.option + " = " + set.value + ",";
      if ((", " + rule.switches + ",").find(own) != std::string::npos) continue;
      report.rewrites.warnings.push_back(
          {.message = fmt::format(
               "the setting {}.{}={} changes nothing, since {} took no part "
               "({})",
               set.rule, set.option, set.value, rule.name,
               rule.switches.empty() ? "its `when` returned false"
                                     : rule.switches)});
    }
  }
}

}  // namespace

Rewriter::Rewriter(RewriteOptions options)
    : options_(std::move(options)),
      files_(options_.sets, sandbox_limits(options_.limits), options_.texts) {
  const Limits& limits = options_.limits;
  options_.run.limits.deadline = limits.deadline;
  options_.how.limits = limits;
  if (options_.tunes) options_.tunes->measure.how.limits = limits;
  if (options_.measures) options_.measures->how.limits = limits;
  judge_edits();
}

// Sets the judge of edits, where the options ask for one: what is wrong is not
// shown.
void Rewriter::judge_edits() {
  rewrite::Judge asks;
  if (options_.on_step) asks = judge_of(options_.on_step);
  options_.run.judge = asks;
  local_ = nullptr;
  if (!options_.verifies_edits) return;
  local_ = std::make_shared<LocalProof>(options_.how);
  options_.run.judge = [local = local_, asks](const rewrite::Rule& rule,
                                              const rewrite::Region& region) {
    auto wrong = local->judge(rule, region);
    return wrong || !asks ? std::move(wrong) : asks(rule, region);
  };
}

Result<std::unique_ptr<Rewriter>> Rewriter::create(RewriteOptions options) {
  if (options.tunes && options.measures) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "a result that is tuned is measured already"};
  }
  if (auto s = add_shipped(options.rules, options.texts.get()); !s)
    return s.error();
  std::unique_ptr<Rewriter> out(new Rewriter(std::move(options)));
  auto engine =
      engine::Engine::load(out->files_, out->options_.rules, out->options_.run);
  if (!engine) return engine.error();
  out->engine_ = *std::move(engine);
  if (out->local_) out->local_->run_with(out->engine_->bodies());
  return out;
}

Status Rewriter::configure(const RewriteOptions& options) {
  engine::RunOptions run = options.run;
  run.limits = options_.run.limits;
  options_.run = std::move(run);
  options_.fixed = options.fixed;
  options_.share_data = options.share_data;
  options_.how.limits.tensors = options.limits.tensors;
  options_.verifies = options.verifies;
  options_.verifies_edits = options.verifies_edits;
  options_.on_step = options.on_step;
  judge_edits();
  if (local_) local_->run_with(engine_->bodies());
  return engine_->configure(options_.run);
}

// The best variant of a tuned result is that of an engine of its own.
Status Rewriter::verify(const ir::Model& model, const ir::Model& result,
                        const std::string& output,
                        engine::FileReport& report) const {
  std::error_code none;
  const bool is_saved = options_.saves_counterexample && !output.empty() &&
                        !std::filesystem::is_other(output, none);
  const ProofOptions how{
      .how = options_.how,
      .lenient = options_.lenient,
      .counterexample = is_saved ? output + ".counterexample" : ""};
  if (!report.tuned) return prove(*engine_, model, result, how, report);
  engine::RunOptions run = options_.run;
  run.target = report.tuned->best.target;
  run.permits = engine::permits_of(report.tuned->best);
  const auto engine = engine::Engine::load(files_, options_.rules, run);
  if (!engine) return engine.error();
  return prove(**engine, model, result, how, report);
}

Result<std::shared_ptr<ir::Model>> Rewriter::tune(
    engine::Variants& variants, const ir::Model& model,
    const Progress& progress, engine::FileReport& report) const {
  TuneOptions how = *options_.tunes;
  how.progress = progress;
  auto tuned = api::tune(variants, model, how);
  if (!tuned) return tuned.error();
  report.tuned = *std::move(tuned);
  auto made = variants.make(report.tuned->best);
  if (!made) return made.error();
  report.run = std::move(made->report);
  return std::shared_ptr<ir::Model>(std::move(made->model));
}

Result<io::Staged> Rewriter::stage(const ir::Model& model,
                                   const engine::FileReport& report) const {
  const bool is_copy = report.run.is_untouched() && options_.fixed.empty() &&
                       is_text_model(report.model) &&
                       is_text_model(report.output);
  return is_copy ? copy_text(report.model, report.output)
                 : stage_model(model, report.output, options_.share_data);
}

// By the rules, or the best variant of what they make.
Result<std::shared_ptr<ir::Model>> Rewriter::result_of(
    engine::Variants& variants, const std::shared_ptr<ir::Model>& model,
    const Job& job, bool keeps_model, engine::FileReport& report) {
  if (options_.tunes) return tune(variants, *model, job.progress, report);
  const bool keeps = keeps_model || options_.verifies || options_.measures;
  auto result = keeps ? copy_of(*model, options_.limits) : model;
  auto done = engine_->run(*result, job.progress);
  if (!done) return done.error();
  report.run = *std::move(done);
  return result;
}

// Compares and measures the two, as the options say.
Status Rewriter::examine(engine::Variants& variants, const ir::Model& model,
                         const ir::Model& result, const std::string& output,
                         engine::FileReport& report) {
  if (report.run.is_untouched()) {
    if (options_.measures) {
      report.run.rewrites.warnings.push_back(
          {.message = "nothing was rewritten, so nothing is measured"});
    }
    return {};
  }
  if (options_.verifies) {
    auto status = verify(model, result, output, report);
    if (!status) return status;
  }
  if (!options_.measures) return {};
  auto measured =
      measure(variants, model, options_.run.target, *options_.measures);
  if (!measured) return measured.error();
  report.measured = std::move(measured->comparison);
  report.noise = measured->noise;
  report.runtime = std::move(measured->runtime);
  return {};
}

// From the model to its result.
Result<std::shared_ptr<ir::Model>> Rewriter::make(
    engine::Variants& variants, const std::shared_ptr<ir::Model>& model,
    const Job& job, bool keeps_model, std::vector<rewrite::Warning> warnings,
    engine::FileReport& report) {
  if (job.accepts) {
    if (auto status = job.accepts(*model); !status) return status.error();
  }
  if (local_) local_->begin();
  auto result = result_of(variants, model, job, keeps_model, report);
  const Status proven = local_ ? local_->report(report) : Status();
  auto& all = report.run.rewrites.warnings;
  all.insert(all.begin(), std::make_move_iterator(warnings.begin()),
             std::make_move_iterator(warnings.end()));
  if (!result) return result.error();
  if (!proven) return proven.error();
  warn_of_idle(options_.sets, report.run);
  if (auto status = examine(variants, *model, **result, job.output, report);
      !status) {
    return status.error();
  }
  auto ended = check_end(**result, options_.limits.deadline);
  if (!ended) return ended.error();
  return result;
}

ModelOptions Rewriter::model_options() const {
  return {.limits = options_.limits, .fixed = options_.fixed};
}

Status Rewriter::rewrite(const Job& job, Rewritten& out) {
  engine::FileReport& report = out.report;
  report.model = job.model;
  const Deadline& deadline = options_.limits.deadline;
  if (auto status = deadline.check(); !status) return status;
  const Stopwatch load;
  std::vector<rewrite::Warning> warnings;
  ModelOptions how = model_options();
  how.warn = [&](const std::string& message) {
    warnings.push_back({.message = message});
  };
  auto loaded = load_model(job.model, how);
  if (!loaded) {
    for (const auto& each : warnings) {
      if (job.warn) job.warn(each.message);
    }
    return loaded.error();
  }
  const std::shared_ptr<ir::Model> model = *std::move(loaded);
  out.loaded = true;
  report.load_seconds = load.seconds();
  how.warn = {};  // they were heard
  engine::Variants variants(files_, options_.rules, options_.run,
                            [&] { return load_model(job.model, how); });
  const auto result =
      make(variants, model, job, false, std::move(warnings), report);
  if (!result) return result.error();
  if (job.output.empty()) return {};
  report.output = job.output;
  const Stopwatch save;
  auto staged = stage(**result, report);
  if (!staged) return staged.error();
  out.result = *std::move(staged);
  report.save_seconds = save.seconds();
  return deadline.check();
}

Result<std::shared_ptr<ir::Model>> Rewriter::rewrite(
    const std::shared_ptr<ir::Model>& model, const Job& job,
    engine::FileReport& report) {
  report.model = job.model;
  if (auto status = options_.limits.deadline.check(); !status) {
    return status.error();
  }
  const Diagnostic in_memory{.kind = ErrorKind::kUsage,
                             .what = "a model in memory is not measured"};
  if (options_.tunes || options_.measures) return in_memory;
  engine::Variants variants(
      files_, options_.rules, options_.run,
      [&]() -> Result<std::unique_ptr<ir::Model>> { return in_memory; });
  const Job its{.model = job.model, .output = "", .progress = job.progress};
  return make(variants, model, its, true, {}, report);
}

}  // namespace ruleengine::api
