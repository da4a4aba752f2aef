// `ruleengine run`: bytes become a graph, a program compiled from rules finds
// matches in it, each match becomes an edit, and the graph becomes bytes again.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <new>
#include <thread>

#include <nlohmann/json.hpp>

#include "bindings/api/files.h"
#include "bindings/api/rewrite.h"
#include "bindings/cli/run.h"
#include "bindings/cli/run_paths.h"
#include "bindings/cli/run_report.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/tuning.h"
#include "bindings/cli/verbs.h"
#include "core/engine/json.h"
#include "core/io/load.h"

namespace ruleengine::cli {
namespace {

namespace fs = std::filesystem;

// Rejects options that are wrong by themselves or beside others.
Status check_options(const Options& options) {
  for (double limit :
       {options.limit_time, options.limit_callback, options.limit_load}) {
    if (std::isnan(limit)) return usage("a limit is not a number", "nan", "");
  }
  if (options.verify != "" && options.verify != "model") {
    return usage("--verify=" + options.verify + " is not implemented yet", "",
                 "use --verify");
  }
  const bool measures = options.if_faster || options.bench;
  if (measures && options.jobs > 1) {
    return usage("--jobs disturbs what is measured", "",
                 "leave out --jobs, or --if-faster and --bench");
  }
  const std::string& file =
      options.record.empty() ? options.replay : options.record;
  if (!file.empty() && !options.if_faster) {
    return usage("measurements are recorded and replayed with --if-faster only",
                 file, "add --if-faster");
  }
  if (options.bench && options.if_faster) {
    return usage("--if-faster measures already", "--bench",
                 "leave out --bench");
  }
  if (!measures && (!options.runtime.empty() || options.tune_seconds > 0)) {
    return usage("nothing is measured",
                 options.runtime.empty() ? "--time" : "--runtime",
                 "add --bench or --if-faster");
  }
  return engine::check(engine_options(options));
}

// Not the fault of a rule; a thread of --jobs has no caller that would catch
// it.
Diagnostic out_of_memory() {
  return {.kind = ErrorKind::kLimit, .what = "out of memory"};
}

// What happened to one model. The result is renamed into place at the end.
struct Outcome : api::Rewritten {
  int code = 0;
  bool spoils_report = false;  // its path is one of the model's data files
};

// The options of the library, where those of the command line are right.
Result<api::RewriteOptions> rewrite_options(const Paths& paths,
                                            const Options& options) {
  auto sets = parse_sets(options);
  if (!sets) return sets.error();
  auto how = execution_options(options);
  if (!how) return how.error();
  api::RewriteOptions out{.rules = paths.rules,
                          .sets = *std::move(sets),
                          .run = engine_options(options),
                          .fixed = options.fixed,
                          .share_data = options.share_data,
                          .verifies = !options.verify.empty(),
                          .how = *how,
                          .limits = limits_of(options),
                          .warn = warn};
  // If somebody will read it.
  if (!options.quiet || !options.report.empty()) out.run.cost_at = how->dims;
  api::MeasureOptions measure{.runtime = options.runtime,
                              .how = *std::move(how)};
  if (options.tune_seconds > 0) measure.seconds = options.tune_seconds;
  if (options.if_faster) {
    out.tunes = {
        .measure = measure, .record = options.record, .replay = options.replay};
    const bool tries_all = options.every_target && options.target == "auto";
    if (!tries_all) out.tunes->targets = {options.target};
  }
  if (options.bench) out.measures = std::move(measure);
  return out;
}

// Each result that waits for the report keeps a file open.
constexpr std::size_t kMostWaiting = 256;

// One run over all models. Without a report each result is committed as soon as
// it is done. With a report all results wait for it, so that nothing is written
// if the report cannot be. With more than kMostWaiting models the results do
// not wait; the report may then still fail if the disk is full.
class Batch {
 public:
  Batch(const Paths& paths, const Options& options)
      : paths_(paths),
        options_(options),
        results_(paths.models, options),
        outcomes_(paths.models.size()) {}

  int run() {
    auto rewriter = load();
    if (!rewriter) return fail(of_set(rewriter.error()));
    for (const auto& message : (*rewriter)->warnings()) warn(message);
    run_all(**rewriter);
    if (several() && !options_.quiet) say(summary_of_all(reports()));
    if (std::ranges::any_of(outcomes_, &Outcome::spoils_report)) {
      return first_failure();
    }
    if (auto status = conclude(); !status) return fail(status.error());
    return first_failure();
  }

 private:
  bool several() const { return paths_.models.size() > 1; }

  bool waits() const {
    return !options_.report.empty() && outcomes_.size() <= kMostWaiting;
  }

  Result<std::unique_ptr<api::Rewriter>> load() const {
    auto options = rewrite_options(paths_, options_);
    if (!options) return options.error();
    return api::Rewriter::create(*std::move(options));
  }

  // A rewriter is not thread-safe: each further thread has its own.
  void run_all(api::Rewriter& rewriter) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&](api::Rewriter& own) {
      for (std::size_t i; (i = next++) < outcomes_.size();) run_one(own, i);
    };
    const auto jobs = std::min(
        static_cast<std::size_t>(std::max(1, options_.jobs)), outcomes_.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < jobs; ++i) {
      threads.emplace_back([&] {
        // If loading fails here, the other threads do this one's work.
        try {
          if (const auto own = load()) work(**own);
        } catch (const std::bad_alloc&) {
        }
      });
    }
    work(rewriter);
  }

  // A report must not replace the data of a model.
  Status accept(const ir::Model& model, Outcome& outcome) const {
    for (const SideFile& file : side_files(options_)) {
      if (!io::holds_data(model, file.path)) continue;
      outcome.spoils_report = true;
      return usage(file.what + " would replace the data of a model", file.path,
                   "give it another name");
    }
    return {};
  }

  Status rewrite(api::Rewriter& rewriter, std::size_t i) {
    const std::string& model = paths_.models[i];
    Progress progress(
        options_.if_faster ? "measuring" : fs::path(model).filename().string(),
        !options_.quiet);
    return rewriter.rewrite(
        {.model = model,
         .output = options_.dry_run ? "" : results_.of(model),
         .progress = progress.callback(),
         .accepts =
             [&](const ir::Model& its) { return accept(its, outcomes_[i]); }},
        outcomes_[i]);
  }

  void run_one(api::Rewriter& rewriter, std::size_t i) {
    Outcome& outcome = outcomes_[i];
    engine::FileReport& report = outcome.report;
    report.model = paths_.models[i];
    Status status = out_of_memory();
    try {
      status = rewrite(rewriter, i);
    } catch (const std::bad_alloc&) {
    }
    if (status && !waits()) status = outcome.result.commit();
    if (!status) {
      outcome.code = fail(of_model(status.error(), report.model));
      outcome.result = {};
      report.output.clear();
      report.error = with_option(status.error());
      return;
    }
    if (!waits()) {
      outcome.result.release();
      outcome.result = {};
    }
    for (const auto& [rule, node, message, allowed] :
         report.run.rewrites.warnings) {
      warn(rule.empty() ? message : message + " (" + rule + ")");
    }
    for (const auto& idle : idle_settings(report, options_.sets)) warn(idle);
    if (options_.verbose || !(several() || options_.quiet)) {
      say(summary(report, options_.verbose));
    }
    if (options_.require_match && !report.run.has_rewritten()) {
      warn(report.model + ": no rule rewrote anything (--require-match)");
      outcome.code = kAnswerIsNo;
    }
  }

  // With several models, adds the model to the error.
  Diagnostic of_model(Diagnostic error, const std::string& model) const {
    if (several() && error.where.find(model) == std::string::npos) {
      error.where = error.where.empty() ? model : model + ": " + error.where;
    }
    return error;
  }

  std::vector<const engine::FileReport*> reports() const {
    std::vector<const engine::FileReport*> out;
    for (const Outcome& outcome : outcomes_) out.push_back(&outcome.report);
    return out;
  }

  // A real error takes precedence over kAnswerIsNo.
  int first_failure() const {
    int code = 0;
    for (const Outcome& outcome : outcomes_) {
      if (outcome.code > kAnswerIsNo) return outcome.code;
      code = std::max(code, outcome.code);
    }
    return code;
  }

  // Commits the report and the results, all or none. A single model that failed
  // has no report.
  Status conclude() {
    if (options_.report.empty()) return {};
    if (!several() && outcomes_[0].report.error) return {};
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Outcome& o : outcomes_) {
      json.push_back(engine::to_json(o.report));
      if (const auto& error = o.report.error) {
        json.back()["error"]["code"] = exit_code(error->kind);
      }
    }
    auto report = api::stage_text(
        options_.report, engine::json_text(several() ? json : json[0]));
    if (!report) return report.error();
    std::vector<io::Staged*> all;
    for (Outcome& outcome : outcomes_) all.push_back(&outcome.result);
    all.push_back(&*report);
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto status = all[i]->commit();
      if (status) continue;
      while (i-- > 0) all[i]->revert();
      return status;
    }
    for (io::Staged* one : all) one->release();
    return {};
  }

  const Paths& paths_;
  const Options& options_;
  const ResultPaths results_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

int run_models(const Options& options) {
  if (auto status = check_options(options); !status) {
    return fail(status.error());
  }
  auto paths = sort_paths(options, Wants::kModelsAndRules);
  if (!paths) return fail(paths.error());
  if (paths->models.size() > 1 &&
      !(options.record.empty() && options.replay.empty())) {
    return fail(usage("measurements are those of one model",
                      std::to_string(paths->models.size()) + " models", ""));
  }
  if (auto status = check_run_paths(*paths, options); !status) {
    return fail(status.error());
  }
  remove_leftovers(*paths, options);
  return Batch(*paths, options).run();
}

namespace {

// --dims changes the model.
int run(const Options& given) {
  auto fixed = parse_dims(given, true);
  if (!fixed) return fail(fixed.error());
  Options options = given;
  options.fixed = *std::move(fixed);
  options.dims.clear();
  return run_models(options);
}

}  // namespace

void add_run(Line& line) {
  Options& o = line.options;
  VerbLine run = line.add(cli::run, "run", "rewrite models with rules",
                          "ruleengine run rules/*.lua model.onnx -o out.onnx");
  run.paths(
      "models (*.onnx, *.onnxtxt), and rules (*.lua, folders) instead of those "
      "that ship");
  run.option("-o", o.output,
             "the result, or a folder (FOLDER/, or several models); "
             "NAME.rewritten.onnx beside the model");
  run.option("--target", o.target, engine::target_names());
  run.flag("--keep-ir-version", o.keep_ir_version,
           "no metadata and no overloads: older runtimes read the result");
  run.option("--opset", o.opset,
             "raise the opset of the result to this; not with portable")
      .whole(1, 1'000'000);
  run.option("--report", o.report, "write a report as JSON");
  run.flag("--verify", "model", o.verify,
           "compare model and result by running");
  add_inputs(run, o,
             "sizes of named dimensions in the model: batch=2,mask=seq");
  run.flag("--share-data", o.share_data,
           "refer to the model's external data instead of copying it");
  run.flag("--dry-run", o.dry_run, "do everything but write the result");
  run.flag("--require-match", o.require_match,
           "exit code 1 when no rule rewrote anything in a model");
  run.flag("--if-faster", o.if_faster,
           "keep only rewrites that measure faster; else the model");
  run.flag("--bench", o.bench, "measure the model and the result");
  add_tuning(run, o);
  run.option("--limit-rewrites", o.limit_rewrites, "1000000")
      .whole(0, std::uint64_t{1} << 62);
  run.rules();
  run.exact();
  run.option("--jobs", o.jobs, "models to rewrite in parallel; 1")
      .whole(1, 256);
  run.flag("-q", o.quiet, "only warnings and errors");
  run.flag("-v", o.verbose, "a row for every rule, a line for every rejection");
}

}  // namespace ruleengine::cli
