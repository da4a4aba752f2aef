#include "bindings/cli/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "bindings/cli/execution.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "core/base/stopwatch.h"
#include "core/base/version.h"
#include "core/engine/json.h"
#include "core/engine/target.h"
#include "runtime/compare.h"
#include "runtime/executor.h"

namespace ruleengine::cli {
namespace {

constexpr std::string_view kOurs = "ours";
constexpr double kMilliseconds = 1e3;
constexpr double kDefaultSeconds = 60;
// An answer of the runtime may take this long or twice --time, whichever is
// longer.
constexpr double kAnswerSeconds = 120;

double seconds_of(const Options& options) {
  return options.tune_seconds > 0 ? options.tune_seconds : kDefaultSeconds;
}

// This program's executor.
class OurRuntime final : public engine::MeasuredRuntime {
 public:
  OurRuntime(runtime::NamedData inputs, const Options& options)
      : inputs_(std::move(inputs)), options_(options) {}

  std::string name() const override {
    return fmt::format("ruleengine {}", kVersion);
  }

  Result<std::unique_ptr<engine::MeasuredModel>> load(
      std::unique_ptr<ir::Model> model) override {
    auto executor =
        runtime::Executor::create(*model, executor_options(options_));
    if (!executor) return executor.error();
    return std::unique_ptr<engine::MeasuredModel>(std::make_unique<OurSession>(
        std::move(model), *std::move(executor), inputs_));
  }

 private:
  class OurSession final : public engine::MeasuredModel {
   public:
    OurSession(std::unique_ptr<ir::Model> model,
               std::unique_ptr<runtime::Executor> executor,
               const runtime::NamedData& inputs)
        : model_(std::move(model)),
          executor_(std::move(executor)),
          inputs_(inputs) {}

    Result<double> run(int times) override {
      const Stopwatch watch;
      for (int i = 0; i < times; ++i) {
        const auto outputs = executor_->run(inputs_);
        if (!outputs) return outputs.error();
      }
      return watch.seconds();
    }

    Result<std::optional<std::string>> difference(
        engine::MeasuredModel& other) override {
      auto& its = static_cast<OurSession&>(other);
      const auto theirs = its.executor_->run(inputs_);
      if (!theirs) return std::optional<std::string>();
      const auto ours = executor_->run(inputs_);
      if (!ours) return ours.error();
      const auto compared = runtime::compare(*theirs, *ours);
      return std::optional(compared.mismatch ? compared.mismatch->text
                                             : std::string());
    }

   private:
    std::unique_ptr<ir::Model> model_;
    std::unique_ptr<runtime::Executor> executor_;
    const runtime::NamedData& inputs_;
  };

  runtime::NamedData inputs_;
  const Options& options_;
};

// The inputs of --inputs, or random ones with which the model runs.
Result<runtime::NamedData> inputs_for(const ir::Model& model,
                                      const Options& options) {
  if (!options.inputs.empty()) return read_inputs(model, options);
  auto executor = runtime::Executor::create(model, executor_options(options));
  if (executor) return draw_inputs(**executor, model, options);
  Diagnostic error = executor.error();
  error.hint = "give inputs with --inputs FILE.npz";
  return error;
}

// Replaces the file as a whole.
Status write_file(const std::string& path, const std::string& bytes) {
  auto staged = stage_text(path, bytes);
  if (!staged) return staged.error();
  if (auto status = staged->commit(); !status) return status;
  staged->release();
  return {};
}

Result<engine::Recording> read_recording(const std::string& path) {
  const auto text = read_text_file(path);
  if (text) return engine::recording_of(*text, path);
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "the measurements cannot be read",
                    .where = path,
                    .found = text.error().found};
}

// Says where nothing vouches for the result.
std::string compared_text(bool compared) {
  return compared ? "" : "; the runtime gave no outputs to compare";
}

engine::MakeModel maker(engine::Variants& variants) {
  return [&](const engine::Variant& variant)
             -> Result<std::unique_ptr<ir::Model>> {
    auto made = variants.make(variant);
    if (!made) return made.error();
    return std::move(made->model);
  };
}

// `auto` tries all targets, the one first that most runtimes read.
std::vector<std::string> targets_of(const Options& options) {
  if (!options.every_target || options.target != "auto") {
    return {options.target};
  }
  std::vector<std::string> out;
  for (const engine::Target* each : engine::distinct_targets()) {
    out.emplace_back(each->name);
  }
  return out;
}

std::string speedup_text(const Spread& speedup) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", speedup.median, speedup.low,
                     speedup.high);
}

std::string gain_text(const engine::Tuned::Effect& effect) {
  if (!effect.failed.empty()) return printable(effect.failed);
  return fmt::format("{:+.3f} ms",
                     (effect.without - effect.with) * kMilliseconds);
}

std::string verdict_text(const engine::Tuned::Effect& effect) {
  const std::string text = effect.kept ? "kept" : "left out";
  if (effect.verdict == engine::Verdict::kSame) return text + ", no difference";
  if (effect.verdict != engine::Verdict::kFailed) return text;
  return text + (effect.kept ? ", fails without" : ", fails with it");
}

}  // namespace

Result<std::unique_ptr<Bench>> Bench::create(const ir::Model& model,
                                             const Options& options) {
  auto inputs = inputs_for(model, options);
  if (!inputs) return inputs.error();
  auto bench = std::make_unique<Bench>();
  if (options.runtime.empty() || options.runtime == kOurs) {
    bench->runtime_ = std::make_unique<OurRuntime>(*std::move(inputs), options);
    return bench;
  }
  auto command = runtime_command(options.runtime);
  if (!command) return command.error();
  auto scratch = Scratch::create();
  if (!scratch) return scratch.error();
  bench->scratch_ = *std::move(scratch);
  bench->inputs_ = bench->scratch_->file(".npz");
  const auto bytes = runtime::npz_of(*inputs);
  if (!bytes) return bytes.error();
  auto status = write_file(bench->inputs_.path(), *bytes);
  if (!status) return status.error();
  bench->runtime_ = std::make_unique<CommandRuntime>(
      CommandRuntime::Settings{
          .command = *std::move(command),
          .inputs = bench->inputs_.path(),
          .answer_seconds = std::max(kAnswerSeconds, 2 * seconds_of(options)),
          .deadline = deadline_of(options),
          .threads = options.threads,
          .limit_memory = tensor_limit(options)},
      *bench->scratch_);
  return bench;
}

Result<engine::Tuned> tune_model(engine::Variants& variants,
                                 const ir::Model& model,
                                 const Options& options) {
  std::unique_ptr<Bench> bench;  // outlives the meter's sessions
  std::unique_ptr<engine::Meter> meter;
  std::string runtime;
  if (options.replay.empty()) {
    auto created = Bench::create(model, options);
    if (!created) return created.error();
    bench = *std::move(created);
    meter = std::make_unique<engine::LiveMeter>(
        bench->runtime(), maker(variants), seconds_of(options),
        deadline_of(options));
  } else {
    auto recording = read_recording(options.replay);
    if (!recording) return recording.error();
    runtime = std::move(recording->runtime);
    meter = std::make_unique<engine::PlayedMeter>(
        std::move(recording->measurements));
  }
  const Deadline deadline = deadline_of(options);
  const Stopwatch watch;
  Progress progress("measuring", !options.quiet);
  const auto show = progress.callback();
  const auto proceed = [&] {
    const double all = seconds_of(options) * kMilliseconds;
    if (show) {
      show(static_cast<std::uint64_t>(
               std::min(watch.seconds() * kMilliseconds, all)),
           static_cast<std::uint64_t>(all));
    }
    return deadline.check();
  };
  engine::Tuned tuned;
  const Status done = engine::tune(
      [&](const engine::Variant& variant) { return variants.make(variant); },
      targets_of(options), *meter, proceed, tuned);
  tuned.runtime = bench ? bench->runtime().name() : runtime;
  // What was measured before an error is kept too.
  if (!options.record.empty() && !tuned.measurements.empty()) {
    auto status =
        write_file(options.record, engine::json_text(engine::to_json(tuned)));
    if (done && !status) return status.error();
  }
  if (!done) return done.error();
  return tuned;
}

Status measure(engine::Variants& variants, const ir::Model& model,
               const Options& options, engine::FileReport& report) {
  auto bench = Bench::create(model, options);
  if (!bench) return bench.error();
  engine::LiveMeter meter((*bench)->runtime(), maker(variants),
                          seconds_of(options), deadline_of(options));
  const auto noise = meter.compare(engine::Step::kNoise, {}, {}, 0);
  if (!noise) return noise.error();
  report.noise = engine::noise_of(*noise);
  std::vector<engine::Comparison> all;
  do {
    auto measured = meter.compare(engine::Step::kFinal, {},
                                  {options.target, {}}, report.noise);
    if (!measured) return measured.error();
    all.push_back(*std::move(measured));
  } while (all.back().failed.empty() && all.size() < engine::kPairs &&
           meter.goes_on());
  report.measured =
      all.back().failed.empty() ? engine::middle(all) : all.back();
  report.runtime = (*bench)->runtime().name();
  return {};
}

std::string text_of(const engine::Tuned& tuned, bool verbose) {
  std::string text;
  std::vector<std::vector<std::string>> rows = {
      {"target", "times as fast (95 %)", ""}};
  for (const engine::Tuned::Target& each : tuned.targets) {
    rows.push_back({each.name,
                    each.failed.empty() ? speedup_text(each.speedup) : "-",
                    each.failed});
  }
  text += table(rows);
  rows = {{"rule", "sites", "gain", ""}};
  for (const engine::Tuned::Effect& each : tuned.effects) {
    const bool is_part = !each.part.kind.empty() || !each.part.value.empty();
    const bool changed = each.verdict != engine::Verdict::kSame;
    if (is_part && !changed && !verbose) continue;
    rows.push_back({each.part.text(), std::to_string(each.sites),
                    gain_text(each), verdict_text(each)});
  }
  if (rows.size() > 1) text += table(rows);
  if (!tuned.complete) {
    text += "the time was over before all was tried; --time gives more\n";
  }
  text += fmt::format(
      "noise{}: {:.1f} %\n",
      tuned.runtime.empty() ? "" : " of " + printable(tuned.runtime),
      tuned.noise * 100);
  if (!tuned.failed.empty()) {
    text += "in the end the result failed: " + printable(tuned.failed) + "\n";
  }
  if (tuned.best.is_original()) {
    return text + "nothing is measurably faster than the model itself\n";
  }
  return text + fmt::format(
                    "{}: {:.3f} -> {:.3f} ms, {} times as fast{}\n",
                    tuned.best.target, tuned.seconds_before * kMilliseconds,
                    tuned.seconds_after * kMilliseconds,
                    speedup_text(tuned.speedup), compared_text(tuned.compared));
}

std::string text_of(const engine::Comparison& measured, double noise,
                    const std::string& runtime) {
  if (!measured.failed.empty()) {
    return fmt::format("{} does not run the result: {}", printable(runtime),
                       printable(measured.failed));
  }
  return fmt::format(
      "{}: {:.3f} -> {:.3f} ms, {} times as fast, noise {:.1f} %{}",
      printable(runtime), measured.seconds_of() * kMilliseconds,
      measured.seconds_against() * kMilliseconds,
      speedup_text(measured.speedup()), noise * 100,
      compared_text(measured.compared));
}

void add_tuning(VerbLine& verb, Options& o) {
  verb.option("--runtime", o.runtime,
              "what measures: ours, onnxruntime, openvino, or a command "
              "(docs/tune.md); ours");
  verb.option("--time", o.tune_seconds, "seconds to measure in, about; 60")
      .number(1, 1e6);
  verb.option("--record", o.record, "a file for the measurements");
  verb.option("--replay", o.replay,
              "use these measurements instead of making new ones");
}

}  // namespace ruleengine::cli
