// `ruleengine run`: bytes become a graph, a program compiled from rules finds
// matches in it, each match becomes an edit, and the graph becomes bytes again.

#include <algorithm>
#include <filesystem>
#include <memory>

#include "bindings/api/batch.h"
#include "bindings/api/files.h"
#include "bindings/api/report_text.h"
#include "bindings/cli/output.h"
#include "bindings/cli/run.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;
using api::Outcome;

void warn_of(const std::string& model, const std::string& message) {
  warn(message.starts_with(model) ? message : model + ": " + message);
}

api::RewriteOptions rewrite_options(const Paths& paths, const RunFlags& flags,
                                    bool to_stdout) {
  auto rules = rule_options(flags);
  const auto how = execution_options(flags, flags.in);
  api::RewriteOptions out{
      .rules = paths.rules,
      .sets = std::move(rules.sets),
      .run = flags.run,
      .fixed = flags.fixed,
      .share_data = flags.share_data,
      .verifies = flags.verify == "model" || flags.verify == "lenient",
      .lenient = flags.verify == "lenient",
      .saves_counterexample = !to_stdout,
      .verifies_edits = flags.verify == "local",
      .how = how,
      .limits = rules.limits};
  if (flags.step) out.on_step = ask_on_terminal();
  // If somebody will read it.
  if (!flags.quiet || !flags.report.empty()) out.run.cost_at = how.dims;
  const TuningFlags& tuning = flags.tuning;
  api::MeasureOptions measure{.runtime = tuning.runtime, .how = how};
  if (tuning.seconds > 0) measure.seconds = tuning.seconds;
  if (flags.if_faster) {
    out.tunes = {
        .measure = measure, .record = tuning.record, .replay = tuning.replay};
    const bool tries_all = flags.every_target && flags.run.target == "auto";
    if (!tries_all) out.tunes->targets = {flags.run.target};
  }
  if (flags.bench) out.measures = std::move(measure);
  return out;
}

api::RunFiles files_of(const Paths& paths, const RunFlags& flags) {
  api::RunFiles out{.models = paths.models,
                    .rules = paths.rules,
                    .output = flags.output,
                    .dry_run = flags.dry_run};
  const TuningFlags& tuning = flags.tuning;
  if (!flags.report.empty() && flags.report != "-") {
    out.beside.push_back({"the report", flags.report});
  }
  if (!tuning.record.empty()) {
    out.beside.push_back({"the record", tuning.record});
  }
  for (const std::string& file : {flags.in.how.inputs, tuning.replay}) {
    if (!file.empty()) out.read.push_back(file);
  }
  return out;
}

// Each result that waits for the report keeps a file open.
constexpr std::size_t kMostWaiting = 256;

// One run over all models. Without a report each result is committed as soon as
// it is done. With a report all results wait for it, so that nothing is written
// if the report cannot be. With more than kMostWaiting models the results do
// not wait; the report may then still fail if the disk is full.
class Run {
 public:
  Run(const Paths& paths, const RunFlags& flags, const Output& output)
      : flags_(flags), output_(output), several_(paths.models.size() > 1) {
    batch_ = {
        .how = rewrite_options(paths, flags, output.is_stdout()),
        .files = files_of(paths, flags),
        .jobs = static_cast<std::size_t>(std::max(1, flags.jobs)),
        .waits = output.is_stdout() ||
                 (!flags.report.empty() && paths.models.size() <= kMostWaiting),
        .progress = [&](const std::string& model) { return progress(model); },
        .warn = warn_of,
        .done = [&](Outcome& outcome) { done(outcome); }};
  }

  int run() {
    outcomes_ = take(api::rewrite_all(batch_));
    if (several_ && !flags_.quiet) {
      std::vector<const engine::FileReport*> reports;
      for (const Outcome& each : outcomes_) reports.push_back(&each.report);
      say(api::table_of(reports));
    }
    if (std::ranges::none_of(outcomes_, &Outcome::spoils_beside)) conclude();
    return first_failure();
  }

 private:
  api::Progress progress(const std::string& model) const {
    const auto bar = std::make_shared<Progress>(
        flags_.if_faster ? "measuring" : fs::path(model).filename().string(),
        !flags_.quiet);
    const auto draw = bar->callback();
    if (!draw) return {};
    return [bar, draw](std::uint64_t done, std::uint64_t total) {
      draw(done, total);
    };
  }

  void done(Outcome& outcome) const {
    engine::FileReport& report = outcome.report;
    if (output_.is_stdout() && outcome.status) report.output = "-";
    for (const auto& [rule, node, message, allowed] :
         report.run.rewrites.warnings) {
      warn_of(report.model,
              rule.empty() ? message : message + " (" + rule + ")");
    }
    if (report.error) {
      tell_error(*report.error, report);
      return;
    }
    if (flags_.verbose || !(several_ || flags_.quiet)) {
      say(api::text_of(report, spelled, flags_.verbose));
    }
    if (report.verified && !flags_.quiet) {
      say((several_ ? report.model + ": " : "") +
          engine::text_of(*report.verified));
    }
    if (lacks_match(outcome)) {
      warn_of(report.model, "no rule rewrote anything (--require-match)");
    }
  }

  // With several models, adds the model to the error.
  void tell_error(Diagnostic& error, const engine::FileReport& report) const {
    if (error.kind == ErrorKind::kVerify && flags_.verify != "lenient" &&
        !report.unverified.empty()) {
      error.hint = "--verify=lenient accepts it";
    }
    Diagnostic told = error;
    if (several_ && told.where.find(report.model) == std::string::npos) {
      told.where = report.model + (told.where.empty() ? "" : ": ") + told.where;
    }
    fail(told);
    error = with_option(error);
  }

  bool lacks_match(const Outcome& outcome) const {
    return flags_.require_match && !outcome.report.run.has_rewritten();
  }

  // A real error takes precedence over kAnswerIsNo.
  int first_failure() const {
    const auto failed = std::ranges::find_if(
        outcomes_,
        [](const Outcome& each) { return each.report.error.has_value(); });
    if (failed != outcomes_.end()) return exit_code(failed->report.error->kind);
    return std::ranges::any_of(
               outcomes_,
               [&](const Outcome& each) { return lacks_match(each); })
               ? kAnswerIsNo
               : 0;
  }

  // Commits the report and the results, all or none; a result on stdout comes
  // before the report. A single model that cannot be loaded has no report.
  void conclude() {
    if (output_.is_stdout() && first_failure() <= kAnswerIsNo) {
      check(outcomes_[0].result.commit());
      output_.finish();
      outcomes_[0].result = {};
    }
    if (flags_.report.empty()) return;
    if (!several_ && !outcomes_[0].loaded) return;
    Json json = Json::array();
    for (const Outcome& o : outcomes_) {
      json.push_back(engine::to_json(o.report));
      if (const auto& error = o.report.error) {
        json.back()["error"]["code"] = exit_code(error->kind);
      }
    }
    const std::string text = engine::json_text(several_ ? json : json[0]);
    std::vector<io::Staged*> all;
    for (Outcome& outcome : outcomes_) all.push_back(&outcome.result);
    io::Staged report;
    if (flags_.report != "-") {
      report = take(api::stage_text(flags_.report, text));
      all.push_back(&report);
    }
    check(api::commit_all(all));
    if (flags_.report == "-") put(text);
  }

  const RunFlags& flags_;
  const Output& output_;
  const bool several_;
  api::BatchOptions batch_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

int run_models(const RunFlags& given) {
  check_options(given);
  const auto paths = sort_paths(given, Wants::kModelsAndRules);
  check_streams(paths, given);
  const Output output = output_of(paths, given);
  RunFlags flags = given;
  flags.output = output.path();
  if (paths.models.size() > 1 &&
      !(flags.tuning.record.empty() && flags.tuning.replay.empty())) {
    throw misuse("measurements are those of one model", "",
                 std::to_string(paths.models.size()) + " models");
  }
  return Run(paths, flags, output).run();
}

namespace {

// --dims changes the model.
int run(const RunFlags& given) {
  RunFlags flags = given;
  flags.fixed = parse_dims(given.in, true);
  flags.in.dims.clear();
  if (!flags.watch) return run_models(flags);
  check_options(flags);
  return watch(flags.paths, [&] { return run_models(begun_now(flags)); });
}

}  // namespace

void add_run(Line& line) {
  auto [run, flags] =
      line.add(cli::run, "run", "rewrite models with rules",
               "ruleengine run rules/*.lua model.onnx -o out.onnx");
  run.paths(
      "MODEL|RULE", flags,
      "models (*.onnx, *.onnxtxt; - is stdin), and rules (*.lua, folders) "
      "instead of those that ship");
  run.option("-o", flags.output,
             "the result, a folder (FOLDER/, or several models), or - for "
             "stdout; NAME.rewritten.onnx beside the model")
      .takes("MODEL|FOLDER");
  add_target(run, flags, "the form of the result; auto");
  run.flag("--keep-ir-version", flags.run.keep_ir_version,
           "no metadata and no overloads: older runtimes read the result");
  run.option("--opset", flags.run.opset,
             "raise the opset of the result to this; not with portable")
      .whole(1, 1'000'000);
  run.inputs(flags, flags.in,
             "sizes of named dimensions in the model: batch=2,mask=seq");
  run.flag("--step", flags.step,
           "show each rewrite before and after, and ask whether to keep it");
  run.flag("--watch", flags.watch,
           "run again whenever a rule or a model changes");
  run.flag("--share-data", flags.share_data,
           "refer to the model's external data instead of copying it");
  run.flag("--require-match", flags.require_match,
           "exit code 1 when no rule rewrote anything in a model");
  run.flag("--if-faster", flags.if_faster,
           "keep only rewrites that measure faster; else the model");
  run.flag("--bench", flags.bench, "measure the model and the result");
  run.option("--limit-rewrites", flags.run.limits.rewrites,
             "the most rewrites of a model; 1000000")
      .whole(0, std::uint64_t{1} << 62);
  run.mebibytes("--limit-growth", flags.run.limits.growth,
                std::uint64_t{1} << 40,
                "MiB by which constants may grow; a quarter of them, or 64");
  run.option("--jobs", flags.jobs, "models to rewrite in parallel; 1")
      .whole(1, 256);
  add_run_options(run, flags);
}

}  // namespace ruleengine::cli
